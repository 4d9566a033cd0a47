package dashboard

import (
	"encoding/json"
	"io"
	"strings"
	"time"

	"agentaudit/audit/report"
	"agentaudit/store"
)

// SharedView is a view of results for strangers.
type SharedView struct {
	Frame
	Rows  []SharedLine
	Later bool
	Next  string
	// Searching says that Next goes on with a search that has not filled the page.
	Searching bool
}

// SharedLine is all that a shared view tells of an entry, on its page and in its
// files alike. What the list says beside the label (ids, tags, line, the text
// as given), and how it was audited, is the sharer's own.
type SharedLine struct {
	Label   string         `json:"label"`
	Site    string         `json:"site"`
	Outcome report.Outcome `json:"outcome"`
	Reason  report.Reason  `json:"reason"`
	// Detail is "" where the reason says it all.
	Detail string `json:"detail"`
	// Failing and Warning are checks, without what the site's address says
	// already.
	Failing []string `json:"failing"`
	Warning []string `json:"warning"`
	// AuditedAt is the zero time where there was no audit.
	AuditedAt time.Time `json:"auditedAt,omitzero"`
}

func sharedLine(row store.Row) SharedLine {
	l := SharedLine{Label: row.Label, Site: siteName(row.Target), Outcome: row.Outcome, Reason: row.Reason, Failing: []string{}, Warning: []string{}, AuditedAt: row.FinishedAt.UTC()}
	if row.Reason != report.ReasonComplete {
		l.Detail = row.Detail
	}
	for _, id := range row.Failing {
		l.Failing = append(l.Failing, shortCheck(id, row.Target))
	}
	for _, id := range row.Warning {
		if id != "linked" { // information only
			l.Warning = append(l.Warning, shortCheck(id, row.Target))
		}
	}
	return l
}

var (
	sharedColumns = []string{"label", "site", "outcome", "reason", "detail", "failing", "warning", "auditedAt"}
	sharedCSV     = exportFormat{"csv", exportCSV.mediaType, false, true, func(w io.Writer) rowWriter { return csvOf(w, sharedColumns, sharedCells) }}
	sharedNDJSON  = exportFormat{"ndjson", exportNDJSON.mediaType, false, true, func(w io.Writer) rowWriter { return sharedRows{json.NewEncoder(w)} }}
)

// sharedCells appends the cells of a row, in the order of sharedColumns.
func sharedCells(row store.Row, cells []string) []string {
	l := sharedLine(row)
	for _, s := range []string{l.Label, l.Site, string(l.Outcome), string(l.Reason), l.Detail, strings.Join(l.Failing, " "), strings.Join(l.Warning, " "), moment(l.AuditedAt)} {
		cells = append(cells, store.Inert(s))
	}
	return cells
}

// sharedRows writes rows as JSON, one a line.
type sharedRows struct{ enc *json.Encoder }

func (o sharedRows) Write(r store.Row) error { return o.enc.Encode(sharedLine(r)) }
func (o sharedRows) Flush() error            { return nil }
