package store

import (
	"fmt"
	"strconv"
	"strings"
)

// BatchID names a batch: nine lower-case letters and digits, which sort by the
// time of creation. "" is no batch.
type BatchID string

// RunID names a run: the batch, a hyphen and the number of the run in the
// batch, counted from 1, as in "1hgw3k2xa-17".
type RunID string

// alphabet is Crockford's base 32 in lower case: no i, l, o, u, and in the
// order of ASCII, so that ids sort as the numbers behind them.
const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// idLength is enough for 45 bits of Unix milliseconds (until the year 3084).
const idLength = 9

func batchID(n int64) BatchID {
	var b [idLength]byte
	for i := range b {
		b[idLength-1-i] = alphabet[n>>(5*i)&31]
	}
	return BatchID(b[:])
}

// ParseBatchID reads what a person typed: blanks around it and upper case do
// not matter. The error wraps [ErrNotFound].
func ParseBatchID(s string) (BatchID, error) {
	id := BatchID(strings.ToLower(strings.TrimSpace(s)))
	_, err := id.number()
	return id, err
}

func (id BatchID) number() (int64, error) {
	if len(id) != idLength {
		return 0, fmt.Errorf("%q is no batch id (they have %d letters and digits): %w", string(id), idLength, ErrNotFound)
	}
	var n int64
	for i := range len(id) {
		d := strings.IndexByte(alphabet, id[i])
		if d < 0 {
			return 0, fmt.Errorf("%q is no batch id (%q does not occur in one): %w", string(id), id[i], ErrNotFound)
		}
		n = n<<5 | int64(d)
	}
	return n, nil
}

func runID(batch, n int64) RunID {
	return RunID(string(batchID(batch)) + "-" + strconv.FormatInt(n, 10))
}

// Batch is the batch of the run, "" if id is malformed.
func (id RunID) Batch() BatchID {
	b, _, _ := strings.Cut(string(id), "-")
	return BatchID(b)
}

func (id RunID) numbers() (batch, n int64, err error) {
	b, rest, _ := strings.Cut(string(id), "-")
	if batch, err = BatchID(b).number(); err == nil {
		n, err = strconv.ParseInt(rest, 10, 64)
	}
	// Only the one spelling that runID gives is an id.
	if err != nil || n < 1 || runID(batch, n) != id {
		return 0, 0, fmt.Errorf("%.60q is no run id: %w", string(id), ErrNotFound)
	}
	return batch, n, nil
}
