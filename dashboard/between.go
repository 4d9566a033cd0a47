package dashboard

import (
	"context"
	"errors"
	"fmt"

	"agentaudit/store"
)

// Between is what changed between any two results of one site.
type Between struct {
	Was, Is *store.RunResult
	Diff    store.Diff
}

// The parameters that name the two results.
const (
	paramWas = "was"
	paramIs  = "is"
)

// between reads two results of one site, target; "" takes the site of the
// first.
func between(ctx context.Context, read Reader, target string, was, is string) (*Between, error) {
	b := &Between{}
	for _, side := range []struct {
		name, run string
		result    **store.RunResult
	}{{paramWas, was, &b.Was}, {paramIs, is, &b.Is}} {
		if side.run == "" {
			return nil, blame(side.name, badRequest("The parameter %s is missing: give the id of a result, as in its address.", side.name))
		}
		id := store.RunID(side.run)
		list, err := read.RunResults(ctx, id.Batch(), []store.RunID{id})
		switch {
		case errors.Is(err, store.ErrNotFound) || err == nil && list[0].FinishedAt.IsZero():
			return nil, blame(side.name, &HTTPError{Code: 404, Title: "No such result", Message: fmt.Sprintf("There is no result %.60q.", side.run), Advice: "Choose two results of the list of the site."})
		case err != nil:
			return nil, err
		}
		*side.result = &list[0]
		if target == "" {
			target = list[0].Target
		}
		if list[0].Target != target {
			return nil, blame(side.name, badRequest("The result %.60q is not one of %.200s.", side.run, siteName(target)))
		}
	}
	b.Diff = store.DiffChecks(&b.Was.SiteResult, &b.Is.SiteResult)
	return b, nil
}

func apiBetween(ctx context.Context, s *Server, r *apiRequest) (any, error) {
	b, err := between(ctx, s.c.Store, "", r.Query.Get(paramWas), r.Query.Get(paramIs))
	if err != nil {
		return nil, err
	}
	return apiPair{Target: b.Is.Target, Label: b.Is.Label, Before: sideOf(b.Was), After: sideOf(b.Is),
		Fixed: words(b.Diff.Fixed), New: words(b.Diff.New), Still: words(b.Diff.Still)}, nil
}
