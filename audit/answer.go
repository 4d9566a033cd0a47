package audit

import (
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"agentaudit/audit/report"
	"agentaudit/fetch"
	"agentaudit/fetch/weburl"
)

// answer sorts what a server did when it was asked for a file.
type answer int

const (
	answerFile answer = iota // 200 with something that may be the file
	answerMissing
	answerRedirect
	answerRefused // by our own policy: address, size, encoding
	answerNoHost
	answerBadCertificate
	answerUnexpected
	answerBlocked
	answerServerError
	answerUnreachable
)

// definite reports whether the answer says something about the site. All
// others say only that it could not be asked now.
func (a answer) definite() bool { return a < answerBlocked }

// answer classifies the read. page says that an HTML page may be what was
// asked for; elsewhere one is a soft 404.
func (r *Read) answer(page bool) answer {
	switch r.Kind {
	case "":
	case fetch.KindRedirect:
		return answerRedirect
	case fetch.KindRefused:
		return answerRefused
	case fetch.KindTooLarge, fetch.KindEncoding:
		// Pages that stand in for a file are often large or compressed: what
		// the status or the media type says of them comes first.
		switch a := statusAnswer(r.Status); {
		case r.Status == 0:
			return answerRefused
		case a != answerFile:
			return a
		case !page && isPageType(r.ContentType):
			return answerMissing
		}
		return answerRefused
	case fetch.KindNoSuchHost:
		return answerNoHost
	case fetch.KindBadCertificate:
		return answerBadCertificate
	case fetch.KindResting:
		return answerBlocked
	default:
		return answerUnreachable
	}
	if r.Challenge || r.challenged(page) {
		return answerBlocked
	}
	a := statusAnswer(r.Status)
	if a == answerFile && !page && r.isPage() {
		return answerMissing
	}
	return a
}

func statusAnswer(status int) answer {
	switch {
	case status == http.StatusOK:
		return answerFile
	case status == http.StatusNotFound, status == http.StatusGone:
		return answerMissing
	case status == http.StatusUnauthorized, status == http.StatusForbidden,
		status == http.StatusTooManyRequests, status == http.StatusUnavailableForLegalReasons:
		return answerBlocked
	case isServerError(status):
		return answerServerError
	}
	return answerUnexpected
}

// isServerError reports a 5xx; what some servers send beyond 599 is no failure
// of theirs but an invention.
func isServerError(status int) bool { return status >= 500 && status <= 599 }

// passing reports whether the trouble may be gone a little later: a time-out,
// a reset, a refused connection, a name server's failure, 429 or 5xx (pipeline
// specification, promise 5). A login wall or a block will stand.
func (r *Read) passing() bool {
	switch {
	case r.Kind == fetch.KindTooLarge, r.Kind == fetch.KindEncoding, r.Kind == "":
		return r.Status == http.StatusTooManyRequests || isServerError(r.Status)
	}
	return r.Kind.Temporary()
}

// isPage reports whether the body is an HTML page, by its media type or by
// its first characters.
func (r *Read) isPage() bool {
	if isPageType(r.ContentType) {
		return true
	}
	start := strings.ToLower(strings.TrimLeftFunc(strings.TrimPrefix(string(r.Body[:min(len(r.Body), 512)]), "\ufeff"), unicode.IsSpace))
	for _, mark := range []string{"<!doctype html", "<html", "<head", "<body"} {
		if strings.HasPrefix(start, mark) {
			return true
		}
	}
	return false
}

func isPageType(contentType string) bool {
	mt := mediaType(contentType)
	return mt == "text/html" || mt == "application/xhtml+xml"
}

// challengeMarks are the titles, scripts and forms by which the usual bot
// walls can be told from a site's own pages. They are looked for in the first
// 32 KiB, in lower case.
var challengeMarks = []string{
	"<title>just a moment", "<title>attention required", "<title>checking your browser", "<title>one moment, please",
	"<title>ddos-guard", "<title>access denied", "<title>are you a robot", "<title>robot check", "<title>security check",
	"<title>human verification", "<title>verify you are human", "<title>pardon our interruption", "<title>bot verification",
	"<title>please wait", "<title>vercel security checkpoint",
	"/cdn-cgi/challenge-platform/", "challenges.cloudflare.com", "cf-chl-", "cf_chl_", "g-recaptcha", "google.com/recaptcha",
	"h-captcha", "hcaptcha.com", "captcha-delivery.com", "geo.captcha-delivery", "px-captcha", "perimeterx", "_incapsula_resource",
	"awswafintegration", "aws-waf-token", "ddos-guard", "sgcaptcha", "friendly-captcha", "datadome",
}

// challenged reports whether an HTML answer is a bot wall's challenge: with
// 403, 429 or 503 always, with 200 only where a file belongs, for a site's own
// page may well carry a captcha in a form.
func (r *Read) challenged(page bool) bool {
	switch r.Status {
	case http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable:
	case http.StatusOK:
		if page {
			return false
		}
	default:
		return false
	}
	if !r.isPage() {
		return false
	}
	text := strings.ToLower(string(r.Body[:min(len(r.Body), 32768)]))
	for _, mark := range challengeMarks {
		if strings.Contains(text, mark) {
			return true
		}
	}
	return false
}

// reason is the word for an answer that decides the outcome of an audit.
func (a answer) reason() report.Reason {
	switch a {
	case answerMissing:
		return report.ReasonMissingProfile
	case answerRedirect:
		return report.ReasonRedirected
	case answerRefused:
		return report.ReasonRefused
	case answerNoHost:
		return report.ReasonNoSuchHost
	case answerBadCertificate:
		return report.ReasonBadCertificate
	case answerBlocked:
		return report.ReasonBlocked
	case answerServerError:
		return report.ReasonServerError
	case answerUnreachable:
		return report.ReasonUnreachable
	}
	return report.ReasonUnexpectedStatus
}

// trouble is a sentence on why the file cannot be used, without a final full
// stop; "" for an answer that may be the file.
func (r *Read) trouble(name string, page bool) string {
	switch a := r.answer(page); {
	case a == answerFile:
		return ""
	case r.Kind != "" && (a == answerRefused || (r.Kind != fetch.KindTooLarge && r.Kind != fetch.KindEncoding)):
		return r.Message
	case a == answerMissing && r.Status == http.StatusOK:
		return fmt.Sprintf("%s answers with an HTML page instead of %s: there is no such file, or every address shows the same page", r.URL, name)
	case a == answerBlocked && (r.Challenge || r.challenged(page)):
		return fmt.Sprintf("%s answers with a bot wall's challenge page (HTTP %d) instead of %s", r.URL, r.Status, name)
	}
	return fmt.Sprintf("%s answers with %s instead of %s", r.URL, statusWords(r.Status), name)
}

// remedy says what to do about a file that cannot be read, for the answers that
// need nothing but the name of the file and its address. page is as for
// [Read.answer].
func (r *Read) remedy(name, u string, page bool) string {
	switch r.answer(page) {
	case answerMissing:
		return "Publish " + name + " at " + u + " and serve it with status 200"
	case answerRedirect:
		return "Serve " + name + " at " + u + " itself with status 200, without a redirect"
	case answerBlocked:
		if r.Status == http.StatusTooManyRequests {
			return "Let " + u + " be read more often: one audit makes about ten requests, one after the other. Then audit again"
		}
		return "Let " + u + " be read without login, cookies or a challenge: the file is published for programs. Exempt its path from the firewall or bot protection"
	case answerServerError:
		return "Look into the server's log for " + u + ", put it right, and audit again"
	case answerUnexpected:
		return "Serve " + name + " at " + u + " with status 200"
	}
	return stopped(r.Advice) + " The file is " + u
}

// destination is where a refused redirect leads, nil unless that is another
// address which may stand in a profile: no other is worth a recommendation.
func (r *Read) destination() *weburl.URL {
	at, err := weburl.Parse(r.URL)
	if err != nil || r.Location == "" {
		return nil
	}
	to, err := at.Resolve(r.Location)
	if err != nil || weburl.CheckSiteLink(to) != nil || to.Location() == at.Location() {
		return nil
	}
	return to
}

// statusWords is "HTTP 404 (Not Found)".
func statusWords(status int) string {
	if text := http.StatusText(status); text != "" {
		return fmt.Sprintf("HTTP %d (%s)", status, text)
	}
	return fmt.Sprintf("HTTP %d", status)
}

// mediaType is the media type of a Content-Type header in lower case, without
// parameters.
func mediaType(header string) string {
	mt, _, _ := strings.Cut(header, ";")
	return strings.ToLower(strings.TrimSpace(mt))
}

// printable makes a header of a stranger fit for reports: control characters
// are left out, and what is longer than any media type is cut.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == unicode.ReplacementChar || unicode.Is(unicode.Cf, r) || unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	if r := []rune(s); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return s
}

// answered reports whether an answer with this status came, be it that its
// body was refused for its size or coding.
func (r *Read) answered(status int) bool {
	return r.Status == status && (r.Kind == "" || r.Kind == fetch.KindTooLarge || r.Kind == fetch.KindEncoding)
}
