package dashboard

import (
	"encoding/json"
	"net/http"
	"slices"

	"agentaudit/store"
)

// endpoints are all operations of the API.
var endpoints = slices.Concat(mainEndpoints, scheduleEndpoints, webhookEndpoints, moreEndpoints)

var mainEndpoints = []endpoint{
	{method: "GET", path: "/me", need: reading, summary: "Who asks, and whether they may change things", status: 200, answer: "Me", do: apiGetMe},
	{method: "GET", path: "/overview", need: reading, summary: "The present state of all sites, and batches that are open", status: 200, answer: "Overview", do: apiGetOverview},

	{method: "GET", path: "/batches", need: reading, summary: "All batches, newest first", query: []string{"after", "limit"}, status: 200, answer: "BatchPage", do: apiListBatches},
	{method: "POST", path: "/batches", need: writing, summary: "Take a list and audit its sites. A list may also be sent as it is, in every form that agentaudit run reads; the options then stand in the address",
		query: rawListParams, body: "NewBatch", long: true, status: http.StatusCreated, answer: "Batch", do: apiCreateBatch},
	{method: "GET", path: "/batches/{batch}", need: reading, summary: "One batch with its progress", status: 200, answer: "Batch", do: apiGetBatch},
	{method: "DELETE", path: "/batches/{batch}", need: writing, summary: "Drop a draft that was not started", status: http.StatusNoContent, do: apiDropBatch},
	{method: "POST", path: "/batches/{batch}/start", need: writing, summary: "Start a draft", long: true, status: 200, answer: "Batch", do: apiStartBatch},
	{method: "POST", path: "/batches/{batch}/pause", need: writing, summary: "Begin nothing more of a batch until it is resumed", status: 200, answer: "Batch", do: apiSteer("paused", (*Server).pauseBatch)},
	{method: "POST", path: "/batches/{batch}/resume", need: writing, summary: "Go on with a batch that is paused", status: 200, answer: "Batch", do: apiSteer("resumed", (*Server).resumeBatch)},
	{method: "POST", path: "/batches/{batch}/cancel", need: writing, summary: "End a batch; what has a result keeps it", status: 200, answer: "Batch", do: apiSteer("cancelled", (*Server).cancelBatch)},
	{method: "POST", path: "/batches/{batch}/retry", need: writing, summary: "Audit sites of a batch again in place: those that are unchecked, or of an outcome or reason", body: "Selection", status: 200, answer: "Retried", do: apiRetryBatch},
	{method: "POST", path: "/batches/{batch}/again", need: writing, summary: "Audit all that a view shows again, as a batch of its own", body: "View", long: true, status: http.StatusCreated, answer: "Batch", do: apiAuditAgain},
	{method: "GET", path: "/batches/{batch}/entries", need: reading, summary: "The accepted lines of a batch", query: []string{"after", "limit"}, status: 200, answer: "EntryPage",
		do: numbered(Reader.Entries, func(e store.Entry) int64 { return e.N })},
	{method: "GET", path: "/batches/{batch}/rejected", need: reading, summary: "The lines of a batch that were not accepted, with the reasons", query: []string{"after", "limit"}, status: 200, answer: "RejectedPage",
		do: numbered(Reader.RejectedLines, func(e store.Rejected) int64 { return e.N })},
	{method: "GET", path: "/batches/{batch}/reasons", need: reading, summary: "The reasons behind the outcomes, the most frequent first", query: []string{"limit"}, status: 200, answer: "ReasonPage", do: ranked(Reader.TopReasons)},
	{method: "GET", path: "/batches/{batch}/checks", need: reading, summary: "The checks that fail or warn, the most frequent first", query: []string{"limit"}, status: 200, answer: "CheckPage", do: ranked(Reader.TopChecks)},
	{method: "GET", path: "/batches/{batch}/results", need: reading, summary: "Results, filtered. A page may have fewer rows than asked for and still be followed by others",
		query: append([]string{"after", "limit"}, filterParams...), status: 200, answer: "RowPage", do: apiListResults},

	{method: "GET", path: "/runs/{run}", need: reading, summary: "One audit, with the rows of all entries that share it", status: 200, answer: "Run", do: apiGetRun},
	{method: "GET", path: "/runs/{run}/report", need: reading, summary: "The version 3 report", status: 200, answer: "Document", do: document(func(p *store.Parts) json.RawMessage { return p.Report })},
	{method: "GET", path: "/runs/{run}/agents", need: reading, summary: "The report over agents.txt and agents.json", status: 200, answer: "Document", do: document(func(p *store.Parts) json.RawMessage { return p.Agents })},
	{method: "GET", path: "/runs/{run}/discovery", need: reading, summary: "What a scan of the site found", status: 200, answer: "Document", do: document(func(p *store.Parts) json.RawMessage { return p.Discovery })},
	{method: "GET", path: "/runs/{run}/evidence", need: reading, summary: "What was read, from where, with which status and hash", status: 200, answer: "Documents", do: document(func(p *store.Parts) json.RawMessage { return p.Evidence })},
	{method: "GET", path: "/runs/{run}/fix-kit", need: reading, summary: "The files that mend the publication, and where to publish them", status: 200, answer: "Document", do: document(func(p *store.Parts) json.RawMessage { return p.FixKit })},

	{method: "GET", path: "/sites", need: reading, summary: "All sites with their present outcome", query: []string{"after", "limit", paramOutcome, paramHost, paramSince, paramSort}, status: 200, answer: "SitePage", do: apiListSites},
	{method: "GET", path: "/site", need: reading, summary: "One site with its results over time", query: []string{"target", "before", "limit"}, status: 200, answer: "SiteHistory", do: apiGetSite},
	{method: "GET", path: "/site/difference", need: reading, summary: "What changed between any two results of one site", query: []string{paramWas, paramIs}, status: 200, answer: "Pair", do: apiBetween},
	{method: "GET", path: "/compare", need: reading, summary: "What changed from one batch to another", query: compareParams, status: 200, answer: "Comparison", do: apiCompare},

	{method: "GET", path: "/tokens", need: writing, summary: "All tokens, without their secrets", status: 200, answer: "TokenPage", do: apiListTokens},
	{method: "POST", path: "/tokens", need: writing, summary: "Make a token; its secret is shown once", body: "NewToken", status: http.StatusCreated, answer: "Made", secret: true, do: apiCreateToken},
	{method: "DELETE", path: "/tokens/{token}", need: writing, summary: "Revoke a token", status: http.StatusNoContent, do: apiRevokeToken},
	{method: "GET", path: "/shares", need: writing, summary: "All shared links, without their secrets", status: 200, answer: "SharePage", do: apiListShares},
	{method: "POST", path: "/shares", need: writing, summary: "Share one result or one view by a link; it is shown once", body: "NewShare", status: http.StatusCreated, answer: "Made", secret: true, do: apiCreateShare},
	{method: "DELETE", path: "/shares/{share}", need: writing, summary: "Revoke a shared link", status: http.StatusNoContent, do: apiRevokeShare},
}
