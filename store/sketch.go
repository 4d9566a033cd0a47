package store

import "hash/maphash"

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
