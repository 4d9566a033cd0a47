package readme

import (
	"agentaudit/audit/report"
	"agentaudit/fetch/weburl"
)

// Publication is where the files of the publication are.
type Publication struct {
	// Readme is the file that is judged, Profile the agentic.json that is
	// audited, Text the agentic.txt beside it.
	Readme, Profile, Text *weburl.URL
}

// Judgement is the README's part of a report: its status word and the checks
// "readme", "readme:json", "readme:txt", "readme:specification",
// "readme:directory" and "readme:filename" in this order. A README that is
// not judged has the check "readme" alone.
type Judgement struct {
	Status report.ReadmeStatus
	Checks []report.Check
}

// Judge judges a README that was read with status 200 (specification section
// 6). body is the raw body, contentType its Content-Type header, "" if none.
func (p Publication) Judge(contentType string, body []byte) Judgement {
	return Judgement{}
}

// Missing is the judgement where the README's address answered 404.
func (p Publication) Missing() Judgement { return Judgement{} }

// Unavailable is the judgement where the README could not be read for any
// other reason. reason is a sentence for people without a final full stop.
func (p Publication) Unavailable(reason string) Judgement { return Judgement{} }
