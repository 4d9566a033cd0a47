package publication

import (
	"fmt"
	"strings"

	"agentaudit/audit/jsontree"
	"agentaudit/audit/profile"
	"agentaudit/fetch/weburl"
)

// DefaultActionID is the action of a starter.
const DefaultActionID = "create-ticket"

// starter is the ticket contract of the convention's examples (seed EXAMPLES,
// QUICKSTART and GENERATOR, "Advanced"): three operations, one comparison of
// input and result, tracking for a day, three checks.
const starter = `{
  "$schema": "https://ruagentic.org/schemas/agentic-1.0.schema.json",
  "agentic": "1.0.0",
  "origin": %s,
  "actions": [
    {
      "id": %s,
      "description": "Create a support ticket and verify the original result.",
      "openapi": "/openapi.json",
      "submit": "createTicket",
      "status": "getRequestStatus",
      "verify": "getTicket",
      "request": {
        "header": "Idempotency-Key",
        "scope": "principal-action",
        "retentionSeconds": 86400
      },
      "bindings": {
        "statusRequestId": "requestId",
        "verifyResourceId": "ticketId"
      },
      "evidence": {
        "resourceIdPointer": "/id",
        "requestIdPointer": "/request_id",
        "statePointer": "/status",
        "successValues": [
          "open",
          "closed"
        ],
        "inputBindings": [
          {
            "inputPointer": "/subject",
            "resourcePointer": "/subject"
          }
        ]
      },
      "recovery": {
        "maxChecks": 3,
        "checkDelayMs": 100,
        "timeoutMs": 3000,
        "retry": "never-automatically"
      }
    }
  ]
}
`

// Starter writes an action profile to start from: the ticket contract for an
// origin. It describes no real service until its operations, pointers and
// times are replaced by those of one.
//
// origin is an https URL without path, query and fragment, in any spelling;
// an empty actionID means [DefaultActionID]. With o.AllowLocal http on
// localhost is allowed. The error says which of the two is wrong.
func Starter(origin, actionID string, o profile.Options) (string, error) {
	if actionID == "" {
		actionID = DefaultActionID
	}
	u, err := weburl.Parse(strings.TrimSpace(origin))
	if err != nil {
		return "", fmt.Errorf("the origin: %w", err)
	}
	if u.Path() != "/" || u.Query() != "" || u.Fragment() != "" || u.HasCredentials() {
		return "", fmt.Errorf("the origin %s is a scheme and a host alone, as in https://service.example: leave out path, query, fragment and credentials", profile.Show(origin, 200))
	}
	text := fmt.Sprintf(starter, jsontree.Quote(u.Origin()), jsontree.Quote(actionID))
	doc, err := profile.Decode([]byte(text))
	if err != nil {
		return "", fmt.Errorf("the starter: %w", err)
	}
	v := doc.Validate(o)
	for _, p := range v.Problems {
		switch p.Pointer {
		case "/actions/0/id":
			return "", fmt.Errorf("the action id %s: %s", profile.Show(actionID, 80), p.Message)
		case "/origin":
			return "", fmt.Errorf("the origin %s: %s", profile.Show(origin, 200), p.Message)
		}
	}
	return text, v.Err()
}
