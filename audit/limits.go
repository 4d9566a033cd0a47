package audit

import "time"

// The limits of one audit (specification sections 2 and 7). One byte more
// than a size limit is refused by the reader, without reading the rest.
const (
	// MaxSmallFile bounds agentic.json, agentic.txt, README.md and llms.txt.
	MaxSmallFile = 65536
	// MaxActionDocument bounds an OpenAPI document of an action profile.
	MaxActionDocument = 262144
	// MaxSiteDocument bounds a document of a site profile.
	MaxSiteDocument = 1048576
	// MaxDocuments is how many documents of one profile are read.
	MaxDocuments = 5
	// Budget bounds one audit as a whole. Ten reads of eight seconds each
	// could take longer; a site so slow has had its chance by then.
	Budget = 60 * time.Second
	// Accept is what audits ask for (specification section 2).
	Accept = "application/json, text/plain;q=0.9"
)
