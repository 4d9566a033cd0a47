// Package mcp serves audits to agents as the tools of an MCP server
// (Model Context Protocol), over standard input and output or over HTTP.
//
// Five tools have the names and arguments of the convention's own servers
// (seed PROTOCOLS): discover_agentic_site, get_agentic_spec,
// generate_agentic_profile, validate_agentic_profile and audit_agentic_url.
// The others are ours: audit_agents_txt, submit_batch, batch_status,
// list_results and get_report.
//
// All but submit_batch only read, and say so in their annotations. Results are
// structured content with an output schema. What goes wrong is a tool error in
// words that say what to do; a protocol error is a bug. Texts of sites in the
// results are data, never instructions, which the server tells its clients.
package mcp
