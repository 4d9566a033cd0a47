package fetch_test

import (
	"context"
	"fmt"

	"agentaudit/fetch"
	"agentaudit/fetch/fakenet"
	"agentaudit/fetch/weburl"
)

// One visit reads several files of a site; what goes wrong has a kind, a
// sentence and an advice.
func Example() {
	// For the public internet: fetch.New(fetch.Config{UserAgent: ...}).
	net := fakenet.New(fakenet.Options{})
	defer net.Close()
	net.Static("site.example", "/agentic.json", 200, fakenet.JSON, `{"agentic": "1.1.0"}`)
	net.Site("site.example").Path("/agentic.txt", fakenet.Redirect(301, "/index.txt"))
	client := net.Client(fetch.Config{})

	visit := client.Visit()
	defer visit.Close()
	for _, raw := range []string{"https://site.example/agentic.json", "https://site.example/agentic.txt", "https://gone.example/"} {
		u, err := weburl.Parse(raw)
		if err != nil {
			fmt.Println(err)
			continue
		}
		resp, err := visit.Fetch(context.Background(), fetch.Request{URL: u, MaxBytes: 65536})
		if err != nil {
			fmt.Printf("%s: %v\n", fetch.KindOf(err), err)
			continue
		}
		fmt.Printf("%d %s, %d bytes, connection reused: %v\n", resp.Status, resp.ContentType, resp.Bytes, resp.Trace.Reused)
	}
	// Output:
	// 200 application/json, 20 bytes, connection reused: false
	// redirect: https://site.example/agentic.txt answers with a redirect (status 301) to /index.txt, which is not followed
	// no-such-host: the host gone.example does not exist: the name servers do not know the name (NXDOMAIN)
}
