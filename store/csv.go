package store

import (
	"strconv"
	"strings"
	"time"
)

// CSVColumns name the columns of a row in CSV as its JSON names its members
// (pipeline specification, "Outcome and reason").
var CSVColumns = []string{
	"batch", "entry", "line", "input", "target", "id", "label", "tags", "outcome", "reason", "detail", "valid", "publication",
	"textIndex", "readme", "agents", "failing", "warning", "attempts", "startedAt", "finishedAt", "durationMs",
}

// AppendCSV appends the cells of the row, in the order of [CSVColumns]. Lists are
// separated by blanks, and nothing in them is run by a spreadsheet ([Inert]).
func (r Row) AppendCSV(cells []string) []string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	instant := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(timeFormat)
	}
	from := len(cells)
	cells = append(cells, string(r.Batch), number(r.Entry), number(r.Line), r.Input, r.Target, r.ID, r.Label,
		strings.Join(r.Tags, " "), string(r.Outcome), string(r.Reason), r.Detail, strconv.FormatBool(r.Valid),
		string(r.Publication), string(r.TextIndex), string(r.Readme), r.Agents, strings.Join(r.Failing, " "),
		strings.Join(r.Warning, " "), strconv.Itoa(r.Attempts), instant(r.StartedAt), instant(r.FinishedAt), number(r.DurationMs))
	for i := from; i < len(cells); i++ {
		cells[i] = Inert(cells[i])
	}
	return cells
}

// Inert puts an apostrophe before text that a spreadsheet would run as a
// formula: what lists and sites say must not.
func Inert(s string) string {
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return "'" + s
	}
	return s
}
