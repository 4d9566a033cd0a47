package dashboard

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// click follows a link or sends a form, and waits for the page behind it.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.runs("window.here = true")
	b.do(chromedp.Click(selector))
	b.wants("!window.here && document.readyState", "complete")
}

// runs runs a statement in the page.
func (b *browser) runs(statement string) {
	b.t.Helper()
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("(() => { "+statement+"; return true })()")); err != nil {
		b.t.Fatal(err)
	}
}

// TestBrowserWholeWay goes the way of a reader in a browser: hands in a list,
// looks at it, watches it being audited, filters what fails, opens one, takes
// its fix kit, exports the view, shares the result and ends that, and has the list
// audited every week.
func TestBrowserWholeWay(t *testing.T) {
	b := openBrowser(t)
	x := seed(t)
	s := serve(t, Config{Store: x, Write: x, Now: x.clock.Now, Users: testUsers(t, "anna"), LiveEvery: 20e6})
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	defer s.Close() // ends the streams, which the web server would wait for
	b.look(1280, "light")
	list := filepath.Join(t.TempDir(), "way.csv")
	if err := os.WriteFile(list, []byte("url,name\nnorth-lantern.example,North Lantern\nblue-harbour.example,Blue Harbour\nno site,\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Whoever has not signed in is asked to, and goes on where it was.
	b.do(chromedp.Navigate(web.URL+"/new"), chromedp.SetValue("#s-name", "anna"), chromedp.SetValue("#s-password", testPassword))
	b.click("main form button")
	b.wants("location.pathname", "/new")

	b.do(chromedp.SetValue("#n-name", "The whole way"), chromedp.SetUploadFiles("#n-file", []string{list}))
	b.click("main form button")
	b.wants(`document.querySelector("#understood").textContent`, "2 lines were accepted")
	b.wants(`[...document.querySelectorAll("tbody")].at(-1).textContent.includes("this is not a URL")`, "true")
	b.click(".actions form button")
	b.wants(`document.querySelector(".notice.done").textContent`, "The audit has been started.")

	b.wants(`document.querySelector("[data-open-one]").hidden`, "true")
	x.work(t, x.net, 100) // all that is open, this batch among it
	b.wants(`document.querySelector("[data-open-one]").hidden`, "false")
	b.click("[data-open-one] a")
	b.wants(`document.querySelector("h1 .state").textContent`, "finished")
	b.click(".head .actions a.main")
	b.do(chromedp.SetValue("#f-outcome", "failed"))
	b.click(".filters button")
	b.wants(`document.querySelectorAll(".results tbody tr").length`, "1")

	// What is shown is what is exported.
	b.runs(`window.rows = 0; fetch(document.querySelector('a[href*="results.csv"]').href).then((r) => r.text()).then((t) => { window.rows = t.trim().split("\n").length })`)
	b.wants("window.rows", "2")
	b.click(".results tbody th a")
	b.wants(`document.querySelector("h1").textContent.startsWith("North Lantern")`, "true")
	b.runs(`window.kit = ""; fetch(document.querySelector('a[href$="fix-kit.zip"]').href).then((r) => r.text()).then((t) => { window.kit = t.slice(0, 2) })`)
	b.wants("window.kit", "PK")

	b.do(chromedp.Click(".share summary"))
	b.click(".share form button")
	link, err := chromedp.Run(b.ctx, chromedp.Text("#sharedlink"))
	if err != nil || !strings.HasPrefix(link, web.URL+"/share/") {
		t.Fatalf("the link is %q, %v", link, err)
	}
	b.do(chromedp.Navigate(link))
	b.wants(`document.querySelector("nav[aria-label=Main]").textContent.trim()`, "Shared with you")
	b.do(chromedp.Navigate(web.URL + "/settings"))
	b.click(`button[aria-label^="Revoke the link"]`)
	b.wants(`document.querySelector(".notice.done").textContent.startsWith("The link was revoked")`, "true")
	// And again every week.
	b.do(chromedp.Navigate(web.URL + "/batches"))
	b.click("tbody th a")
	b.click(`.steer a.button`)
	b.do(chromedp.SetValue("#d-name", "Every week"))
	b.click("#add ~ form button")
	b.wants(`document.querySelector("tbody th").textContent.includes("every Sunday at 0:00, UTC")`, "true")
	b.wants(`document.querySelectorAll("tbody td:nth-child(2) time").length`, "3")
	for _, c := range b.said() {
		t.Error(c)
	}
	b.do(chromedp.Navigate(link))
	b.wants(`document.querySelector("h1").textContent`, "This link is over")
	b.do(chromedp.Navigate(web.URL + "/settings"))
	b.click(fmt.Sprintf(`form[action=%q] button`, s.links.SignOut()))
	b.wants("location.pathname", "/signin")
}
