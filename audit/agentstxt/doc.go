// Package agentstxt judges agents.txt and agents.json, the capability
// declaration of draft-car-agents-txt-wellknown-00 (specification
// "agents-txt.md", called "the specification" here; section numbers are its).
//
// [ParseText] and [ParseJSON] read the two forms into one model and never
// fail: what is wrong becomes a check. [Judge] is pure: it takes the answers
// that a site gave, by place, and returns the report. [Collect] is the only
// part that asks for anything, through a [Fetcher] that its caller brings.
// [Answer] says what one agent may do by a declaration.
//
// The report stands beside the version 3 report and never touches its
// verdict. No credential that is found is ever printed: a report shows its
// kind, its place, its first characters, its length and a short hash.
package agentstxt
