package store

import "slices"

// Diff is what changed in the checks of a site from one result to the next:
// ids of checks that fail or warn.
type Diff struct {
	Fixed []string `json:"fixed"`
	New   []string `json:"new"`
	Still []string `json:"still"`
}

// DiffChecks compares the checks of two results by their ids; what is only for
// information is not counted.
func DiffChecks(before, after *SiteResult) Diff {
	open := func(r *SiteResult) []string {
		return slices.DeleteFunc(slices.Concat(r.Failing, r.Warning), func(id string) bool { return id == "linked" })
	}
	d := Diff{Fixed: []string{}, New: []string{}, Still: []string{}}
	was, is := open(before), open(after)
	for _, id := range is {
		if slices.Contains(was, id) {
			d.Still = append(d.Still, id)
		} else {
			d.New = append(d.New, id)
		}
	}
	for _, id := range was {
		if !slices.Contains(is, id) {
			d.Fixed = append(d.Fixed, id)
		}
	}
	return d
}
