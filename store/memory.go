package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync"
)

// intakes holds what is only needed while a list is read.
type intakes struct {
	mu sync.Mutex
	of map[int64]*intakeMemory
}

// intakeMemory is what the intake of one batch remembers between its calls.
// It has a fixed size however long the list is.
type intakeMemory struct {
	mu sync.Mutex
	// reader is the number of this reading among those of the batch.
	reader int64
	// hosts estimates how many runs each host has so far.
	hosts *sketch
	// keys are runs that are not in run_keys yet. Written one chunk at a time
	// they would touch the whole index every time: hashes have no order.
	// [Options.IntakeKeys] bounds them.
	keys map[[16]byte]int64
	// flushed says that run_keys holds some of the runs.
	flushed bool
}

// begin gives the memory of a batch that has just been created or emptied, for a
// reading with a number.
func (i *intakes) begin(batch, reader int64) {
	m := newIntakeMemory()
	m.reader = reader
	i.put(batch, m)
}

func newIntakeMemory() *intakeMemory {
	return &intakeMemory{hosts: newSketch(), keys: map[[16]byte]int64{}}
}

func (i *intakes) put(batch int64, m *intakeMemory) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.of == nil {
		i.of = map[int64]*intakeMemory{}
	}
	i.of[batch] = m
}

func (i *intakes) get(batch int64) *intakeMemory {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.of[batch]
}

func (i *intakes) drop(batch int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.of, batch)
}

// dropThis is drop for a reading that others may have begun anew meanwhile.
func (i *intakes) dropThis(batch int64, m *intakeMemory) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.of[batch] == m {
		delete(i.of, batch)
	}
}

// all are the batches whose lists are read.
func (i *intakes) all() map[int64]*intakeMemory {
	i.mu.Lock()
	defer i.mu.Unlock()
	return maps.Clone(i.of)
}

// flush writes the keys in their order, each page of the index once.
func (m *intakeMemory) flush(ctx context.Context, tx *sql.Tx, conn *sql.Conn, batch int64) error {
	keys := slices.SortedFunc(maps.Keys(m.keys), func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) })
	rows := newInserter(ctx, tx, conn, "run_keys", "batch, key, run")
	for i := range keys {
		if err := rows.add(batch, keys[i][:], m.keys[keys[i]]); err != nil {
			return err
		}
	}
	return rows.flush()
}

func (m *intakeMemory) clear() {
	clear(m.keys)
	m.flushed = true
}

// runKey tells runs of one batch apart, siteKey sites for ever.
func runKey(target, readme string) [16]byte { return hashKey(target + "\x00" + readme) }

func siteKey(target string) []byte {
	k := hashKey(target)
	return k[:]
}

func hashKey(s string) [16]byte {
	sum := sha256.Sum256([]byte(s))
	return [16]byte(sum[:16])
}

// hostOf is the host of a serialised https URL.
func hostOf(target string) string {
	_, rest, ok := strings.Cut(target, "://")
	if !ok {
		rest = target
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// sketch estimates how often a word was seen, in 8 MB however many words there
// are (a count-min sketch with conservative update). It never says too little;
// with a million different words about half are said once too often.
type sketch struct {
	seed [2]maphash.Seed
	rows [2][]uint32
}

const sketchWidth = 1 << 20

func newSketch() *sketch {
	s := &sketch{seed: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	for i := range s.rows {
		s.rows[i] = make([]uint32, sketchWidth)
	}
	return s
}

// add counts the word once and returns how often it had been seen before.
func (s *sketch) add(word string) int64 {
	a := &s.rows[0][maphash.String(s.seed[0], word)%sketchWidth]
	b := &s.rows[1][maphash.String(s.seed[1], word)%sketchWidth]
	before := min(*a, *b)
	*a = max(*a, before+1)
	*b = max(*b, before+1)
	return int64(before)
}
