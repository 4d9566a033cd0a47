// Package spelling finds the word that a misspelled one most likely means.
package spelling

import "strings"

// maxLength bounds the words looked at, in bytes: longer ones are no slip of
// the fingers.
const maxLength = 40

// Nearest is the word of a list that another one most likely means, "" where
// none is near: at most two letters are to be inserted, deleted, changed or
// swapped with the next, and no more than one in three of the word meant. Case
// does not count. Of several that are as near, the first is meant.
func Nearest(word string, list []string) string {
	if len(word) > maxLength {
		return ""
	}
	word = strings.ToLower(word)
	best, limit := "", 3
	for _, w := range list {
		if len(w) > maxLength+2 {
			continue
		}
		if n := distance(word, strings.ToLower(w)); n < limit && 3*n <= len(w) {
			best, limit = w, n
		}
	}
	return best
}

// distance is the number of letters to insert, delete, change or swap with the
// next, none of them twice.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, before
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = last[j-1]
			if a[i-1] != b[j-1] {
				row[j]++
			}
			row[j] = min(row[j], last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
