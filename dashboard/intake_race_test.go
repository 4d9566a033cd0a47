package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"agentaudit/store"
	"agentaudit/store/storetest"
)

// added tells when lines have been stored.
type added struct {
	*store.Store
	lines chan store.BatchID
}

func (a added) AddLines(ctx context.Context, id store.BatchID, lines []store.Line) (store.Added, error) {
	n, err := a.Store.AddLines(ctx, id, lines)
	a.lines <- id
	return n, err
}

// A list that is still being read cannot be started, so that it is never
// audited by halves; and it can be dropped, of which its sender hears.
func TestListsThatAreStillBeingRead(t *testing.T) {
	for _, dropped := range []bool{false, true} {
		x, clock := storetest.New(t)
		lines := make(chan store.BatchID, 10)
		s := serve(t, Config{Store: x, Write: added{x, lines}, Now: clock.Now})
		handler := s.Handler()
		body, rest := io.Pipe()
		answer := httptest.NewRecorder()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r := httptest.NewRequest("POST", "http://localhost"+apiPath+"/batches?draft=true", body)
			r.Header.Set("Content-Type", "text/plain")
			handler.ServeHTTP(answer, r)
			_ = body.Close()
		}()
		write := func(from, upTo int) {
			var b strings.Builder
			for i := from; i < upTo; i++ {
				fmt.Fprintf(&b, "s%d.example\n", i)
			}
			_, _ = io.WriteString(rest, b.String()) // it fails where the list is not wanted any more
		}
		const all = store.IntakeChunk + 5000
		write(0, store.IntakeChunk+1)
		id := <-lines

		v := visit(t, s)
		post := func(path string) (int, string) {
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost"+path, nil))
			return w.Code, w.Body.String()
		}
		if code, said := post(apiPath + "/batches/" + string(id) + "/start"); code != 409 || !strings.Contains(said, "still being read") {
			t.Errorf("started while it is read: %d %s", code, said)
		}
		if code, said := post(s.links.StartDraft(id)); code != 409 || !strings.Contains(said, "still being read") {
			t.Errorf("started by the page while it is read: %d %s", code, said)
		}
		if dropped {
			if next := v.do(s.links.DropDraft(id)); next != s.links.New() {
				t.Errorf("dropped while it is read: %s", next)
			}
		}
		write(store.IntakeChunk+1, all)
		_ = rest.Close()
		<-ended
		if dropped {
			if answer.Code != 409 || !strings.Contains(answer.Body.String(), "dropped this list") {
				t.Errorf("the sender hears %d %s", answer.Code, answer.Body)
			}
			if list, err := x.Batches(t.Context(), "", 10); err != nil || len(list) != 0 {
				t.Errorf("left behind: %+v, %v", list, err)
			}
			continue
		}
		var made struct{ Entries int64 }
		if err := json.Unmarshal(answer.Body.Bytes(), &made); err != nil || answer.Code != 201 || made.Entries != all {
			t.Errorf("the sender hears %d %s, %v", answer.Code, answer.Body, err)
		}
		if code, said := post(apiPath + "/batches/" + string(id) + "/start"); code != 200 || !strings.Contains(said, `"entries":15000`) {
			t.Errorf("started when it was read: %d %s", code, said)
		}
	}
}
