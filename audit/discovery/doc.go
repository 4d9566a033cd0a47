// Package discovery scans what a site offers publicly and writes the files
// that its owner should publish (specification sections 8 and 9; seed
// GENERATOR and SITE-PROFILE, "Discovery and auditing").
//
// A scan is bounded whatever the site answers: [MaxRequests] answers,
// [MaxBytes] of bodies, [Budget] in all, and no other origin than the site's
// and its www or non-www counterpart. It is deterministic: documents are read
// in batches whose order, allowances and redirects do not depend on timing, so
// that the same answers give the same report as long as the time suffices.
//
// Links and redirects are followed only where robots.txt allows it (package
// robots). It has no say in the start and where that redirects to, in the
// conventional paths, in the files of a publication at the root, and in the
// OpenAPI documents that a published action profile names: they were asked for,
// or are there for agents.
//
// Pages are read by the HTML Standard's tokenizer and by CommonMark at linear
// cost; nothing of them is executed, no endpoint is called.
package discovery
