package audit

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"agentaudit/audit/report"
)

// outcome decides what lists, counts and alerts say of the site, with the one
// word and the one sentence behind it. The first reason that applies wins
// (pipeline specification, "Outcome and reason").
func (j *judge) outcome(r *report.Report) (report.Outcome, report.Reason, string) {
	profileAnswer := j.s.read.answer(false)
	switch {
	case profileAnswer == answerUnreachable:
		// The detail begins with the word for the phase that failed.
		return report.OutcomeUnchecked, report.ReasonUnreachable, string(j.s.read.Kind) + ": " + stopped(j.s.read.Message)
	case !profileAnswer.definite():
		return report.OutcomeUnchecked, profileAnswer.reason(), sentence(j.s.unusable.detail)
	case profileAnswer != answerFile:
		return report.OutcomeFailed, profileAnswer.reason(), sentence(j.s.unusable.detail)
	}
	if d, bad := failing(r, "json", "structure", "origin", "bindings"); bad {
		return report.OutcomeFailed, report.ReasonInvalidProfile, d
	}
	if f := worst(j.wrong); f != nil {
		reason := report.ReasonBrokenDocument
		if f.doc.openapi {
			reason = report.ReasonAPIMismatch
		}
		return report.OutcomeFailed, reason, f.detail
	}
	if d, bad := failing(r, "txt"); bad {
		return report.OutcomeFailed, report.ReasonTextConflict, d
	}
	if d, bad := failing(r, "readme:json", "readme:txt"); bad {
		return report.OutcomeFailed, report.ReasonReadmeConflict, d
	}
	if f := worst(j.troubled); f != nil {
		detail := f.detail
		if a := f.read.answer(!f.doc.openapi); a == answerUnreachable {
			detail = string(f.read.Kind) + ": " + detail
		}
		return report.OutcomeUnchecked, f.read.answer(!f.doc.openapi).reason(), "Document " + shown(wellFormed1(f.doc.name), 200) + ": " + detail
	}
	if r.Publication.Status == report.Partial {
		return report.OutcomePartial, report.ReasonIncomplete, incomplete(r)
	}
	return report.OutcomeSuccessful, report.ReasonComplete, r.Publication.Summary
}

// failing finds the first of some checks that fails.
func failing(r *report.Report, ids ...string) (detail string, bad bool) {
	for _, id := range ids {
		for _, c := range r.Checks {
			if c.ID == id && c.Status == report.Fail {
				return c.Detail, true
			}
		}
	}
	return "", false
}

// worst is the failure that counts most: an OpenAPI document before others.
func worst(failures []failure) *failure {
	for i := range failures {
		if failures[i].doc.openapi {
			return &failures[i]
		}
	}
	if len(failures) > 0 {
		return &failures[0]
	}
	return nil
}

// incomplete says in one sentence what a partial publication lacks.
func incomplete(r *report.Report) string {
	var details []string
	for _, s := range r.Publication.NextSteps {
		d := s.Detail
		if !strings.ContainsRune(".!?…", lastRune(d)) {
			d += "." // more follows
		}
		details = append(details, d)
	}
	if len(details) > 2 {
		details = append(details[:2], fmt.Sprintf("And %d more.", len(details)-2))
	}
	return strings.Join(details, " ")
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// Again says whether another attempt may come to another result, and why.
type Again string

// The answers to the question whether to try again.
const (
	// Final: the result stands.
	Final Again = ""
	// Trouble: something that decides the outcome failed in a passing way
	// (pipeline specification, promise 5).
	Trouble Again = "trouble"
	// Confirm: the site gave a negative answer of a kind that counts only
	// when a second attempt finds the same.
	Confirm Again = "confirm"
)

// Verdict is what an attempt means for the next one.
type Verdict struct {
	Again Again
	// Definite reports that the result is a verdict about the site already,
	// which a later attempt without an answer does not overturn.
	Definite bool
	// RetryAfter is how long the site asked to be left alone, 0 if it did not.
	RetryAfter time.Duration
	// Rests are the hosts that asked to be left alone, with 429 or 503, whatever
	// they were asked for.
	Rests []Rest
	// Network reports that the profile could not be read in the way in which
	// our own network fails (dns, connect, timeout).
	Network bool
}

// Rest is what a host asked for with Retry-After.
type Rest struct {
	// Host is a name without a final dot, or an address.
	Host string
	For  time.Duration
}

// Judgement is a result with what it means for another attempt.
type Judgement struct {
	Result  *report.Result
	Verdict Verdict
}

// Weigh judges a bundle and says whether it is worth another attempt.
func Weigh(b *Bundle) Judgement { return newJudge(b).weigh() }

func (j *judge) weigh() Judgement {
	b, res := j.b, j.result()
	v := Verdict{Definite: res.Outcome != report.OutcomeUnchecked, Network: j.s.read.Kind.Network()}
	for i := range b.Reads {
		v.rest(&b.Reads[i])
	}
	consider := func(r *Read) {
		switch {
		case r == nil:
		case r.passing():
			v.Again = Trouble
			v.RetryAfter = max(v.RetryAfter, r.RetryAfter)
		case r.Kind.Confirm() && v.Again == Final:
			v.Again = Confirm
		}
	}
	switch res.Outcome {
	case report.OutcomeUnchecked:
		consider(j.s.read)
		for _, d := range j.s.documents {
			// Also where the file was read as the README or the text index.
			if d.url != nil {
				consider(b.document(d.url.Location()))
			}
		}
	case report.OutcomePartial:
		// A companion that failed in passing is all that may stand between
		// this site and another outcome.
		consider(b.first(RoleText))
		consider(b.last(RoleReadme))
	case report.OutcomeFailed:
		consider(j.s.read)
	}
	return Judgement{res, v}
}

// rest notes what the host of a read asked for. A host that was left alone
// asked earlier.
func (v *Verdict) rest(r *Read) {
	if r.RetryAfter <= 0 || r.Status != http.StatusTooManyRequests && r.Status != http.StatusServiceUnavailable {
		return
	}
	u, err := url.Parse(r.URL)
	if err != nil {
		return // it was read, so it is a URL
	}
	host := strings.TrimSuffix(u.Hostname(), ".")
	for i := range v.Rests {
		if v.Rests[i].Host == host {
			v.Rests[i].For = max(v.Rests[i].For, r.RetryAfter)
			return
		}
	}
	v.Rests = append(v.Rests, Rest{host, r.RetryAfter})
}

func (b *Bundle) last(role Role) *Read {
	for i := len(b.Reads) - 1; i >= 0; i-- {
		if b.Reads[i].Role == role {
			return &b.Reads[i]
		}
	}
	return nil
}
