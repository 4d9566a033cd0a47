package dashboard

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"agentaudit/queue/queuetest"
	"agentaudit/store/storetest"
)

// browser is one tab of a headless Chromium, and what its console said.
type browser struct {
	t   testing.TB
	ctx context.Context

	mu    sync.Mutex
	wrong []string
}

// openBrowser starts a Chromium for the test, or skips it where there is none.
func openBrowser(t testing.TB) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes long")
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		queuetest.Require(t, "chromium", err.Error())
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	ctx, cancel := context.WithTimeout(ctx, 15*time.Minute)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx}
	err = chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.note("exception: " + e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			b.note(fmt.Sprintf("console.%s with %d values", e.Type, len(e.Args)))
		case *log.EventEntryAdded: // violations of the policy come here, too
			b.note(fmt.Sprintf("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL))
		}
	})
	if err != nil {
		t.Fatalf("chromium did not start: %v", err)
	}
	return b
}

func (b *browser) note(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = append(b.wrong, s)
}

// said gives what the console said since the last time.
func (b *browser) said() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.wrong
	b.wrong = nil
	return s
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// look sets the size of the window and the colours.
func (b *browser) look(width int64, scheme string) {
	b.t.Helper()
	options := []chromedp.EmulateViewportOption{}
	if width < 600 {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	b.do(chromedp.EmulateViewport(width, 900, options...))
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	}); err != nil {
		b.t.Fatal(err)
	}
}

// shoot keeps a picture of the whole page.
func (b *browser) shoot(dir, name string) {
	b.t.Helper()
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

//go:embed testdata/accessible.js
var accessibleScript string

// everyPage are all kinds of pages on the seeds, by a name for their picture.
func everyPage(x *seeded) [][2]string {
	after := "/batches/" + string(x.after)
	host, _ := seedSite(3)
	between := "/site?target=" + host
	if results, err := x.SiteHistory(context.Background(), "https://"+host+"/agentic.json", time.Time{}, 2); err == nil && len(results) == 2 {
		between += "&was=" + string(results[1].Run) + "&is=" + string(results[0].Run)
	}
	pages := [][2]string{
		{"overview", "/"},
		{"batches", "/batches"},
		{"batch", after},
		{"batch-running", "/batches/" + string(x.running)},
		{"batch-cancelled", "/batches/" + string(x.cancelled)},
		{"batch-empty", "/batches/" + string(x.empty)},
		{"rejected", after + "/rejected"},
		{"results", after + "/results"},
		{"results-filtered", after + "/results?outcome=failed&tag=coast"},
		{"results-slowest", after + "/results?sort=slowest"},
		{"results-changed", after + "/results?since=2026-11-25&sort=newest"},
		{"results-none", after + "/results?outcome=failed&tag=nowhere"},
		{"run-failed", "/runs/" + string(x.failed)},
		{"run-open", "/runs/" + string(x.running) + "-20"},
		{"sites", "/sites"},
		{"sites-changed", "/sites?outcome=failed&since=2026-11-20"},
		{"site", "/site?target=" + host},
		{"site-between", between},
		{"new", "/new"},
		{"settings", "/settings"},
		{"schedules", "/schedules"},
		{"deliveries", "/deliveries"},
		{"deliveries-none", "/deliveries?state=failed"},
		{"webhooks", "/webhooks"},
		{"signin", "/signin"},
		{"compare-choose", "/compare"},
		{"compare", "/compare?before=" + string(x.before) + "&after=" + string(x.after)},
		{"compare-only", "/compare?before=" + string(x.before) + "&after=" + string(x.after) + "&show=only-before"},
	}
	if x.draft != "" {
		pages = append(pages, [2]string{"listing", "/batches/" + string(x.listed) + "/listing"}, [2]string{"listing-first", "/batches/" + string(x.listedBefore) + "/listing"},
			[2]string{"batch-listed", "/batches/" + string(x.listed)}, [2]string{"schedule", "/schedules/" + string(x.schedule)})
		pages = append(pages, [2]string{"draft", "/new/" + string(x.draft)}, [2]string{"sharedrun", x.sharedRun}, [2]string{"sharedview", x.sharedView})
	}
	return pages
}

// look is a size of the window with colours.
type look struct {
	width  int64
	scheme string
	shoot  bool
}

// TestBrowserWalk opens every page as a reader does, and keeps pictures in the
// artefacts of the test; AGENTAUDIT_PICTURES names another folder for them, and
// asks for all looks.
func TestBrowserWalk(t *testing.T) {
	b := openBrowser(t)
	x := seed(t)
	x.written(t)
	s := serve(t, Config{Store: x, Write: x, Now: x.clock.Now, BasePath: "/audit", Version: "1.0.0"})
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	looks := []look{{1280, "light", true}, {390, "dark", true}, {360, "light", false}}
	pictures := os.Getenv("AGENTAUDIT_PICTURES")
	if pictures == "" {
		pictures = t.ArtifactDir()
	} else {
		looks = append(looks, look{1280, "dark", true}, look{390, "light", true}, look{1920, "light", true})
	}
	refused := [][2]string{{"missing", "/nothing/here"}, {"results-wrong", "/batches/" + string(x.after) + "/results?since=never&tag=coast"},
		{"sites-wrong", "/sites?host=blue&since=2026-11-20"}, {"compare-wrong", "/compare?before=" + string(x.after) + "&after=" + string(x.after)}, {"site-wrong", "/site?target=no+site"}}
	for _, l := range looks {
		b.look(l.width, l.scheme)
		for _, p := range append(everyPage(x), refused...) {
			name := fmt.Sprintf("%s-%d-%s", p[0], l.width, l.scheme)
			for _, c := range b.complaints(web.URL + "/audit" + p[1]) {
				if slices.Contains(refused, p) && (strings.Contains(c, "404") || strings.Contains(c, "400")) {
					continue // the browser reports the status of the page itself
				}
				t.Errorf("%s: %s", name, c)
			}
			if l.shoot {
				b.shoot(pictures, name)
			}
		}
	}
}

// complaints opens a page and says what is wrong with it: on the console, in
// the eyes of the policy, or for those who cannot see or point well.
func (b *browser) complaints(url string) []string {
	b.t.Helper()
	b.do(chromedp.Navigate(url))
	return b.complaintsHere()
}

// complaintsHere says the same of the page that is open.
func (b *browser) complaintsHere() []string {
	b.t.Helper()
	all, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](accessibleScript))
	if err != nil {
		b.t.Fatal(err)
	}
	return append(all, b.said()...)
}

// The script that looks over pages finds what it is there to find.
func TestBrowserSeesFaults(t *testing.T) {
	b := openBrowser(t)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<!doctype html><html><title>x</title><body><h1>One</h1><main><h3>Three</h3><p id="a" style="color:red">red</p><font color="#999999">pale</font><p id="a">twice</p><input>
<button></button><svg></svg><section>unnamed</section><table><tr><td>no head</td></tr></table><pre>`+strings.Repeat("wide", 500)+`</pre><script>alert(1)</script></main></body></html>`)
	}))
	defer web.Close()
	b.look(1280, "light")
	said := strings.Join(b.complaints(web.URL), "\n")
	for _, want := range []string{"0 of footer", "no language", "no title", "heading jumps from 1 to 3", "no name", "no label", "a picture without a text", "a region without a name", "two of id a",
		"a table without heads", "wider than the window", "contrast 2.85", "inline style", "inline script"} {
		if !strings.Contains(said, want) {
			t.Errorf("nobody said %q in:\n%s", want, said)
		}
	}
}

// Hostile text is text in a real browser, too, under the policy.
func TestBrowserInjection(t *testing.T) {
	b := openBrowser(t)
	x, _, paths := hostileStore(t)
	s := serve(t, Config{Store: x, Write: x})
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	b.look(360, "dark")
	for _, p := range paths {
		for _, c := range b.complaints(web.URL + p) {
			t.Errorf("%s: %s", p, c)
		}
	}
}

// What the script adds: times of the reader, copying, and live numbers.
func TestBrowserScript(t *testing.T) {
	b := openBrowser(t)
	x := seed(t)
	s := serve(t, Config{Store: x, Now: x.clock.Now, LiveEvery: 20 * time.Millisecond})
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	defer s.Close() // ends the streams, which the web server would wait for
	b.look(1280, "light")
	if _, err := chromedp.Call(b.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Tokyo"}); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(web.URL + "/runs/" + string(x.failed)))
	b.wants(`document.querySelector(".verdict time").textContent`, "29 Nov 2026, 21:00")
	b.wants(`document.querySelector(".verdict time").title.includes("2026-11-29T12:00:")`, "true")
	b.wants(`(() => { navigator.clipboard.writeText = async (t) => { window.copied = t }; document.querySelector("button[data-copy=remedy-0]").click(); return document.querySelector("button[data-copy=remedy-0]").hidden })()`, "false")
	b.wants(`window.copied === document.getElementById("remedy-0").textContent && document.getElementById("spoken").textContent`, "Copied")

	b.do(chromedp.Navigate(web.URL + "/batches/" + string(x.running)))
	done := fmt.Sprintf(`document.querySelector("[data-live='%s.done']").textContent`, x.running)
	b.wants(done, "13")
	x.work(t, x.net, 4)
	b.wants(done, "17")
	b.wants(`document.querySelector("[data-open-one]").hidden`, "true")
	x.work(t, x.net, 100)
	b.wants(`document.querySelector("[data-open-one]").hidden`, "false")
	b.do(chromedp.Navigate(web.URL))
	b.wants(`document.querySelector("[data-open-all]").hidden`, "true")
	storetest.Batch(t, x.Store, storetest.Targets(1)...)
	b.wants(`document.querySelector("[data-open-all]").hidden`, "false")
	for _, c := range b.said() {
		t.Error(c)
	}
}

// wants waits until an expression has a value. A page that goes away meanwhile
// is no answer: the next one gives it.
func (b *browser) wants(expression, value string) {
	b.t.Helper()
	var err error
	for range 20 {
		_, err = chromedp.Run(b.ctx, chromedp.Poll[bool](fmt.Sprintf("String(%s) === %q", expression, value), chromedp.WithPollingInterval(10*time.Millisecond), chromedp.WithPollingTimeout(30*time.Second)))
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "navigated") && !strings.Contains(err.Error(), "context") {
			break
		}
	}
	got, _ := chromedp.Run(b.ctx, chromedp.Evaluate[any](expression))
	b.t.Fatalf("%s is %v, want %s: %v", expression, got, value, err)
}

// A form that is wrong comes back with the focus on the field that is to blame,
// and is no worse to read than others.
func TestBrowserFormErrors(t *testing.T) {
	b := openBrowser(t)
	x := seed(t)
	x.written(t)
	web := httptest.NewServer(serve(t, Config{Store: x, Write: x, Now: x.clock.Now, Users: testUsers(t, "anna")}).Handler())
	defer web.Close()
	pictures := os.Getenv("AGENTAUDIT_PICTURES")
	if pictures == "" {
		pictures = t.ArtifactDir()
	}
	wrong := func(name, focus string) {
		t.Helper()
		b.wants("document.activeElement.id", focus)
		for _, width := range []int64{1280, 390} {
			b.look(width, "light")
			for _, c := range b.complaintsHere() {
				if !strings.Contains(c, "status of 4") {
					t.Errorf("%s, %d wide: %s", name, width, c)
				}
			}
			b.shoot(pictures, fmt.Sprintf("%s-%d", name, width))
		}
		b.look(1280, "light")
	}
	b.look(1280, "light")
	b.do(chromedp.Navigate(web.URL+"/signin"), chromedp.SetValue("#s-name", "anna"), chromedp.SetValue("#s-password", "not that one"))
	b.click("main form button")
	wrong("signin-wrong", "s-password")
	b.do(chromedp.SetValue("#s-password", testPassword))
	b.click("main form button")
	b.do(chromedp.Navigate(web.URL+"/schedules"), chromedp.SetValue("#d-name", "Now and then"), chromedp.SetValue("#d-cron", "now and then"))
	b.click("#add ~ form button")
	wrong("schedules-wrong", "d-cron")
	b.wants(`document.querySelector("#d-name").value`, "Now and then")
	b.do(chromedp.Navigate(web.URL+"/schedules/"+string(x.schedule)), chromedp.SetValue("#d-zone", "Mars/Olympus"))
	b.click("#change ~ form button")
	wrong("schedule-wrong", "d-zone")
	b.do(chromedp.Navigate(web.URL+"/new"), chromedp.SetValue("#n-sites", "[\"a.example\", "), chromedp.SetValue("#n-name", "Broken"))
	b.runs(`document.querySelector("#n-format").value = "json"`)
	b.click("main form button")
	wrong("new-wrong", "n-sites")
	b.do(chromedp.Navigate(web.URL+"/settings"), chromedp.SetValue("#t-name", " "))
	b.click(`form[action="/settings/tokens"] button`)
	wrong("settings-wrong", "t-name")
}
