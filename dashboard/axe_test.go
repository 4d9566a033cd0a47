package dashboard

import (
	"net/http/httptest"
	"os"
	"testing"

	"github.com/chromedp/chromedp"

	"agentaudit/queue/queuetest"
)

// axeRun asks axe-core about the page for the rules of WCAG 2.2 AA and gives a
// sentence for each thing that it objects to.
const axeRun = `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })
	.then((r) => r.violations.map((v) => v.id + ": " + v.help + ": " + v.nodes.map((n) => n.html.slice(0, 160)).join(" | ")))`

// TestBrowserAxe has axe-core look at every page, in both colours and at the
// width of a phone. It is a package of npm, which AGENTAUDIT_AXE names by the
// path of its axe.min.js.
func TestBrowserAxe(t *testing.T) {
	path := os.Getenv("AGENTAUDIT_AXE")
	if path == "" {
		queuetest.Require(t, "axe", "AGENTAUDIT_AXE does not name the axe.min.js of axe-core")
	}
	axe, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b := openBrowser(t)
	x := seed(t)
	x.written(t)
	s := serve(t, Config{Store: x, Write: x, Now: x.clock.Now})
	web := httptest.NewServer(s.Handler())
	defer web.Close()
	for _, l := range []look{{1280, "light", false}, {390, "dark", false}} {
		b.look(l.width, l.scheme)
		for _, p := range everyPage(x) {
			b.do(chromedp.Navigate(web.URL + p[1]))
			b.runs(string(axe))
			objections, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](axeRun, chromedp.EvalAwaitPromise))
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range objections {
				t.Errorf("%s, %d wide, %s: %s", p[0], l.width, l.scheme, o)
			}
		}
	}
}
