package worker

import (
	"testing"
	"testing/synctest"
)

// A slot that becomes free goes to a small job that waits and to what was
// parked by turns, and only then to who waits with a job of many runs.
func TestSlotsInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s slots
		s.init(1)
		<-s.free
		parked := []*run{{}, {}}
		for _, r := range parked {
			if s.offer(r) {
				t.Fatal("a slot that is taken is given away")
			}
		}
		got := make(chan string, 3)
		wait := func(name string, first chan struct{}) {
			go func() {
				select {
				case <-s.free:
				case <-first:
				}
				got <- name
			}()
			synctest.Wait()
		}
		wait("group", nil)
		wait("small", s.first)
		wait("small", s.first)
		for i, want := range []any{"small", parked[0], "small", parked[1], "group"} {
			r := s.give()
			synctest.Wait()
			if r != nil {
				if r != want {
					t.Errorf("%d: a parked run, want %v", i, want)
				}
				continue
			}
			if name := <-got; name != want {
				t.Errorf("%d: %s, want %v", i, name, want)
			}
		}
	})
}
