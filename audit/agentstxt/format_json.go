package agentstxt

import "strings"

// jsonFormat recognises what a JSON file is (section 9).
func jsonFormat(d *Document) Format {
	text := trim(d.src.text)
	switch {
	case text == "":
		return Unrecognised
	case isHTML(text):
		return Absent
	}
	root := d.root
	if root == nil {
		if strings.Contains(text, `"specVersion"`) {
			return Draft // broken, but it speaks of this draft: rule 64 says so
		}
		return Unrecognised
	}
	switch {
	case root.is('['):
		return otherPrefix + "unrelated-data"
	case !root.is('{'):
		return Unrecognised
	case isDraftJSON(root):
		return Draft
	case len(root.members) == 0:
		return Unrecognised
	}
	return otherPrefix + Format(otherJSON(root))
}

// isDraftJSON: specVersion with site or capabilities; or site with items that
// are shaped like this draft's capabilities.
func isDraftJSON(root *node) bool {
	site, list := root.get("site"), root.get("capabilities")
	if root.get("specVersion") != nil {
		return site.is('{') || list.is('[')
	}
	if !site.is('{') || !list.is('[') {
		return false
	}
	for _, c := range list.items {
		if c.get("id") != nil && (c.get("endpoint") != nil || c.get("protocol") != nil) {
			return true
		}
	}
	return false
}

func otherJSON(root *node) string {
	has := func(name string) bool { return root.get(name) != nil }
	list := func(name string) bool { return root.get(name).is('[') }
	count := func(names ...string) int {
		n := 0
		for _, name := range names {
			n += b2i(has(name))
		}
		return n
	}
	schema := root.get("$schema").text()
	if schema == "" {
		schema = root.get("schema").text()
	}
	host := strings.ToLower(schema + " " + root.get("standard").text())
	switch {
	case has("agentsJson"), list("flows") && count("source", "sources", "server", "servers", "links") > 0:
		return "wild-card"
	case strings.Contains(host, "agents-txt.com"), strings.Contains(host, "agentstxt.dev"):
		return "agents-txt.com"
	case schema == "agentlookup-v1":
		return "agentlookup-v1"
	case has("agentPolicyVersion"):
		return "agent-action-policy"
	case has("agents-txt"):
		return "asturwebs"
	case has("name_for_human"), has("name_for_model"):
		return "openai-plugin"
	case strings.Contains(host, "runaos"), has("site_name") && list("actions"):
		return "aos"
	case has("site_info") && count("authentication", "intents", "policies") > 0:
		return "jmilinovich"
	case has("baseUrl") && has("pages"), has("apiVersion") && has("pages"):
		return "lando22"
	case root.get("site").is('"') && count("authorization", "mcp", "tools") > 0 && (has("version") || count("authorization", "mcp", "tools") > 1):
		return "actorial"
	case count("protocol_version", "schema_version") > 0 && (has("site") && list("capabilities") || has("site") && count("session", "rate_limit", "audit") > 0):
		return "agents-protocol"
	case root.get("capabilities").is('{') && (count("skills", "defaultInputModes", "protocolVersion", "supportedInterfaces") > 0 ||
		hasStreaming(root.get("capabilities"))),
		list("skills") && count("defaultInputModes", "defaultOutputModes", "protocolVersion", "supportedInterfaces") > 0,
		strings.Contains(host, "openagents"):
		return "a2a-agent-card"
	case root.get("site").is('{') && count("payments", "authorization", "mcp", "skills", "a2a", "ucp", "webmcp") > 0:
		return "agents-txt.com"
	case has("specVersion") && (list("entries") || has("host") && has("entries")):
		return "ai-catalog"
	case (list("data") || list("actions")) && count("name", "description", "version") >= 2:
		return "leonting1010"
	case list("agents"):
		return "agent-directory"
	case list("data") && (has("status") || len(root.members) <= 3), isRecordList(root):
		return "unrelated-data"
	case schema != "":
		return "vendor-schema"
	}
	return "ad-hoc"
}

// isRecordList: an object that is but a list of records, or a record itself,
// as data files of pages have them.
func isRecordList(root *node) bool {
	record := func(n *node) bool {
		k := 0
		for _, name := range []string{"Name", "Rating", "Image", "rating", "image", "phone", "email", "photo", "avatar", "price"} {
			k += b2i(n.get(name) != nil)
		}
		return k >= 2
	}
	if record(root) && root.get("url") == nil {
		return true
	}
	if len(root.members) != 1 || !root.members[0].value.is('[') {
		return false
	}
	items := root.members[0].value.items
	return len(items) > 0 && record(items[0])
}

// hasStreaming: the capabilities that an A2A agent may have.
func hasStreaming(capabilities *node) bool {
	for _, name := range []string{"streaming", "pushNotifications", "stateTransitionHistory", "extendedAgentCard"} {
		if capabilities.get(name) != nil {
			return true
		}
	}
	return false
}
