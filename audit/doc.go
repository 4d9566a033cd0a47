// Package audit judges what one site publishes for AI agents: it reads the
// files of a publication ([Collect]) and then judges what was read ([Judge]).
//
// The two halves are apart on purpose. Collect does all the reading and
// decides nothing; Judge is a pure function from what was read to a result,
// so that stored bytes can be judged again under newer rules, and tests need
// no server. A broken site is data: neither half returns an error for it.
//
// The formats themselves are judged by the packages below this one: profile,
// openapi, textindex and readme. What they find becomes the version 3 report
// of package report. agents.txt, another convention, has a report of its own
// beside it ([CollectAgents], package agentstxt).
package audit
