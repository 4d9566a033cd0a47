package producer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"agentaudit/audit"
	"agentaudit/audit/report"
	"agentaudit/audit/sitelist"
	"agentaudit/store"
	"agentaudit/store/storetest"
	"agentaudit/worker/producer"
)

func newBatch(t *testing.T, st *store.Store, sources ...string) store.BatchID {
	t.Helper()
	b, err := st.CreateBatch(t.Context(), store.NewBatch{Sources: sources})
	if err != nil {
		t.Fatal(err)
	}
	return b.ID
}

func TestFilesStreamsAndSitesBecomeOneBatch(t *testing.T) {
	st, _ := storetest.New(t)
	file := filepath.Join(t.TempDir(), "shops.csv")
	if err := os.WriteFile(file, []byte("url,label\none.example,One\nnot a site,Two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	list := producer.List{Files: []string{file, producer.StandardInput}, Sites: []string{"three.example"}}
	names := list.SourceNames()
	if want := []string{"shops.csv", "standard input", "arguments"}; !reflect.DeepEqual(names, want) {
		t.Fatalf("sources %q, want %q", names, want)
	}
	id := newBatch(t, st, names...)
	c, err := producer.Fill(t.Context(), st, id, list.Inputs(strings.NewReader("one.example\ntwo.example\n")), list.Read, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := (producer.Counts{Lines: 5, Added: store.Added{Entries: 4, Runs: 3, Duplicates: 1, Rejected: 1}}); c != want {
		t.Errorf("counts %+v, want %+v", c, want)
	}
	b, err := st.SealBatch(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if b.Entries != 4 || b.Runs != 3 || b.Duplicates != 1 || b.Rejected != 1 {
		t.Errorf("the batch says %d entries, %d runs, %d duplicates, %d rejected", b.Entries, b.Runs, b.Duplicates, b.Rejected)
	}
	rejected, err := st.RejectedLines(t.Context(), id, 0, 10)
	if err != nil || len(rejected) != 1 || rejected[0].Source != "shops.csv" || rejected[0].Line != 3 || rejected[0].Reason == "" {
		t.Errorf("rejected %+v, %v", rejected, err)
	}
}

func TestProgressGrowsChunkByChunkUpToTheResult(t *testing.T) {
	st, _ := storetest.New(t)
	var list bytes.Buffer
	for i := range 2*store.IntakeChunk + 5 {
		list.WriteString(strings.Repeat("a", 1+i%50) + ".example\n")
	}
	id := newBatch(t, st)
	var seen []int64
	c, err := producer.Fill(t.Context(), st, id, []producer.Input{producer.Reader("list", &list)}, sitelist.Options{}, func(c producer.Counts) {
		seen = append(seen, c.Lines)
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []int64{store.IntakeChunk, 2 * store.IntakeChunk, 2*store.IntakeChunk + 5}; !reflect.DeepEqual(seen, want) {
		t.Errorf("progress %v, want %v", seen, want)
	}
	if c.Runs != 50 || c.Duplicates != c.Entries-50 {
		t.Errorf("%d runs, %d duplicates of %d entries", c.Runs, c.Duplicates, c.Entries)
	}
}

func TestAListThatBreaksOffIsTheFaultOfTheList(t *testing.T) {
	for name, input := range map[string]producer.Input{
		"cut off":      producer.Reader("sites.json", strings.NewReader(`["one.example", "two.exa`)),
		"spreadsheet":  producer.Reader("sites.xlsx", strings.NewReader("PK\x03\x04")),
		"not a member": producer.Reader("sites.csv", strings.NewReader("a,b\n1,2\n")),
		"no such file": producer.List{Files: []string{"/nonexistent/list.txt"}}.Inputs(nil)[0],
	} {
		t.Run(name, func(t *testing.T) {
			st, _ := storetest.New(t)
			id := newBatch(t, st)
			_, err := producer.Fill(t.Context(), st, id, []producer.Input{input}, sitelist.Options{}, nil)
			if _, ok := errors.AsType[*producer.ListError](err); !ok {
				t.Errorf("the error is %v, not a ListError", err)
			}
		})
	}
}

func TestTroubleOfTheStoreIsNotTheFaultOfTheList(t *testing.T) {
	st, _ := storetest.New(t)
	id := newBatch(t, st)
	if _, err := st.SealBatch(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	_, err := producer.Fill(t.Context(), st, id, []producer.Input{producer.Reader("list", strings.NewReader("a.example"))}, sitelist.Options{}, nil)
	if _, ok := errors.AsType[*producer.ListError](err); ok || !errors.Is(err, store.ErrConflict) {
		t.Errorf("the error is %v", err)
	}
}

func TestTheIntakeEndsWithItsContext(t *testing.T) {
	st, _ := storetest.New(t)
	id := newBatch(t, st)
	ctx, cancel := context.WithCancel(t.Context())
	endless := readerFunc(func(p []byte) (int, error) {
		return copy(p, "a.example\n"), nil
	})
	_, err := producer.Fill(ctx, st, id, []producer.Input{producer.Reader("list", endless)}, sitelist.Options{}, func(producer.Counts) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestADroppedBatchIsEmptyAndSaysWhy(t *testing.T) {
	st, _ := storetest.New(t)
	id := newBatch(t, st)
	if _, err := producer.Fill(t.Context(), st, id, []producer.Input{producer.Reader("list", strings.NewReader("a.example\nb b\n"))}, sitelist.Options{}, nil); err != nil {
		t.Fatal(err)
	}
	if err := st.AbandonIntake(t.Context(), id, "not wanted"); err != nil {
		t.Fatal(err)
	}
	b, err := st.Batch(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if b.State != store.StateCancelled || b.Entries != 0 || b.Rejected != 0 || b.Note != "not wanted" {
		t.Errorf("the batch is %+v", b)
	}
}

func TestOptionsSurviveTheStore(t *testing.T) {
	st, _ := storetest.New(t)
	want := producer.Options{List: producer.List{Files: []string{"/lists/a.txt"}, Read: sitelist.Options{Column: "home"}}, Options: audit.Options{NoAgents: true, Discover: audit.DiscoverAlways}}
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	b, err := st.CreateBatch(t.Context(), store.NewBatch{Options: data})
	if err != nil {
		t.Fatal(err)
	}
	got, err := producer.OptionsOf(b)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("options %+v, %v, want %+v", got, err, want)
	}
	b.Options = []byte(`[]`)
	if _, err := producer.OptionsOf(b); err == nil || !strings.Contains(err.Error(), string(b.ID)) {
		t.Errorf("options that are no object: %v", err)
	}
}

func TestOnlyWhatIsAFileCanBeReadAgain(t *testing.T) {
	for _, c := range []struct {
		list producer.List
		want bool
	}{
		{producer.List{Files: []string{"/a"}, Sites: []string{"a.example"}}, true},
		{producer.List{Files: []string{"/a", producer.StandardInput}}, false},
		{producer.List{Posted: []string{"pasted list"}}, false},
	} {
		if got := c.list.Rereadable(); got != c.want {
			t.Errorf("%+v: %t", c.list, got)
		}
	}
}

// What a list said of its sites, and what was done to its texts, goes along
// into a copy, whichever way its lines are chosen.
func TestCopiesKeepWhatTheListSaid(t *testing.T) {
	st, clock := storetest.New(t)
	old := newBatch(t, st, "list.csv")
	line := store.Line{Number: 7, Input: "one\u00ad.example", Target: "https://one.example/agentic.json", Readme: "https://docs.example/README.md", ID: "1", Label: "One", Tags: []string{"a", "b"}, Notes: []string{"invisible characters were removed"}}
	if _, err := st.AddLines(t.Context(), old, []store.Line{line}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.SealBatch(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	due, err := st.TakeDue(t.Context(), store.ClassSmall, 1)
	if err != nil || len(due) != 1 {
		t.Fatalf("%v due, %v", due, err)
	}
	claim, err := st.ClaimRun(t.Context(), due[0].Run, "test", time.Minute)
	if err == nil {
		err = st.FinishRun(t.Context(), claim, storetest.Result(line.Target, report.OutcomeFailed, report.ReasonMissingProfile, clock.Now()))
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, lines := range map[string]iter.Seq2[store.Line, error]{
		"all":    producer.Entries(t.Context(), st, old),
		"picked": producer.Picked(t.Context(), st, store.Filter{Batch: old, Outcome: report.OutcomeFailed}),
	} {
		id := newBatch(t, st, name)
		c, err := producer.Copy(t.Context(), lines, st, id)
		if err != nil || c.Entries != 1 {
			t.Fatalf("%s: %+v, %v", name, c, err)
		}
		got, err := st.Entries(t.Context(), id, 0, 10)
		want := store.Entry{N: 1, Source: name, Line: 7, Input: line.Input, Target: line.Target, Readme: line.Readme, ID: "1", Label: "One", Tags: line.Tags, Notes: line.Notes}
		if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
