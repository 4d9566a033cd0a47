package agentstxt

import (
	"regexp"
	"slices"
	"strings"
)

// textMarks are the traits of a text file that tell formats apart.
type textMarks struct {
	lines    []string // trimmed, not blank, comments included
	comments []string
	fields   []textLine
	junk     []string // lines that are neither
	keys     map[string]bool
	folded   map[string]bool // the keys in lower case
}

type textLine struct {
	key, value string
	indented   bool
	next       string // the trimmed line behind it
}

// maxMark is how much of a line the recognition looks at.
const maxMark = 500

var keyForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9 _.-]{0,40}$`)

func readMarks(d *Document) *textMarks {
	m := &textMarks{keys: map[string]bool{}, folded: map[string]bool{}}
	n := min(len(d.src.starts), maxLines)
	for i := range n {
		raw := d.src.line(i)
		line := trim(raw)
		if line == "" {
			continue
		}
		if len(line) > maxMark { // its beginning tells as much
			line = line[:maxMark]
		}
		if len(m.fields) > 0 && m.fields[len(m.fields)-1].next == "" {
			m.fields[len(m.fields)-1].next = line
		}
		m.lines = append(m.lines, line)
		if line[0] == '#' {
			m.comments = append(m.comments, line)
			continue
		}
		key, value, ok := strings.Cut(line, ":")
		key = trim(key)
		if !ok || !keyForm.MatchString(key) || strings.HasPrefix(value, "//") {
			m.junk = append(m.junk, line)
			continue
		}
		m.fields = append(m.fields, textLine{key, trim(value), raw[0] == ' ' || raw[0] == '\t', ""})
		m.keys[key] = true
		m.folded[strings.ToLower(key)] = true
	}
	return m
}

// textFormat recognises what a text file is (section 9). Content types are
// looked at by the caller.
func textFormat(d *Document) Format {
	text := trim(d.src.text)
	switch {
	case text == "":
		return Unrecognised
	case isHTML(text):
		return Absent
	case text[0] == '{':
		return otherPrefix + "json-body"
	case text[0] == '[':
		if _, bad := parseTree(text); bad == nil {
			return otherPrefix + "json-body"
		}
	}
	m := readMarks(d)
	if m.folded["spec-version"] || !d.legacy.IsZero() || hasDraftCapability(d) {
		return Draft
	}
	if len(m.fields)+len(m.junk) == 0 {
		return Unrecognised // comments only
	}
	if name := m.special(d); name != "" {
		return otherPrefix + Format(name)
	}
	if m.folded["site-name"] && m.folded["site-url"] && !m.isRobots() {
		return Draft
	}
	if name := m.general(); name != "" && !(name == "ad-hoc" && m.isWeakDraft(d)) {
		return otherPrefix + Format(name)
	}
	return Unrecognised
}

// isWeakDraft: marks of the draft that are too weak to judge the file by.
func (m *textMarks) isWeakDraft(d *Document) bool {
	for _, a := range d.Declaration.Agents {
		if !a.RateLimit.IsZero() || a.Capabilities != nil || a.AgentDeclaration.given() {
			return true
		}
	}
	return m.folded["agents-json"] || slices.ContainsFunc(m.comments, func(c string) bool { return strings.Contains(c, "draft-car") })
}

// hasDraftCapability is the draft's strong mark besides Spec-Version: a
// Capability block with an Endpoint or a Protocol.
func hasDraftCapability(d *Document) bool {
	return slices.ContainsFunc(d.Declaration.Capabilities, func(c Capability) bool {
		return c.Endpoint.given() || c.Protocol.given()
	})
}

var (
	srijalHash = regexp.MustCompile(`^\*[0-9a-f]{64}$`)
	srijalRule = regexp.MustCompile(`^/\S*\s+(ALLOW|DISALLOW)(\s+\S+=\S+)*$`)
	section    = regexp.MustCompile(`^==+ .+ ==+$`)
	agentINI   = regexp.MustCompile(`^\[Agent: .+\]$`)
	navEntry   = regexp.MustCompile(`^\[[^\]]+\] .*source=`)
	perSeconds = regexp.MustCompile(`^\d+/\d+s$`)
	authURL    = regexp.MustCompile(`^\S+ https?://`)
	pointerURL = regexp.MustCompile(`(?i)(https?://\S+|/?[\w./-]*agents?\.(txt|json)\b)`)
	otherFile  = regexp.MustCompile(`(?i)(https?://\S+|/\.well-known)/agents\.(txt|json)\b`)
	pointing   = regexp.MustCompile(`(?i)\b(see|moved|redirect\w*|located|find|found|refer|go to|available|canonical|lives|now at|look at)\b|->|=>|^https?://\S+$`)
	word       = regexp.MustCompile(`^[a-z][a-z_]*(\.[a-z_]+)*$`)
)

// special names a format with marks of its own: two of them, or one that no
// other format has (section 10, reading 9).
func (m *textMarks) special(d *Document) string {
	if m.isPointer() {
		return "pointer-stub"
	}
	if m.isSrijal() {
		return "srijal"
	}
	best, most := "", 1
	for _, f := range []struct {
		name   string
		points int
	}{
		{"agents-txt.com", m.agentsTxtCom()},
		{"jaspervanveen", m.jaspervanveen()},
		{"agents-protocol", m.agentsProtocol()},
		{"agent-action-policy", 2 * m.value("Policy", func(v string) bool { return strings.HasSuffix(v, "agent-policy.json") })},
		{"asturwebs", 2*m.literal("---yaml") + m.comment("# Version: 2.0") + m.comment("# Updated:")},
		{"crashland66", m.crashland()},
		{"dennj", m.points([]string{"Communication-Protocol", "Payment-System", "Communication"}, []string{"Logo", "API", "Author"})},
		{"agent-layer", m.agentLayer()},
		{"actorial", m.actorial()},
		{"adp", 2*m.value("Engine", func(v string) bool { return strings.HasPrefix(v, "ADP/") }) +
			2*m.value("Policy", func(v string) bool { return strings.HasSuffix(v, "adp.json") }) +
			m.value("Allow", isVerb) + m.value("Disallow", isVerb)},
		{"action-words", m.points([]string{"Allow-action", "Disallow-action"}, nil)},
		{"agentnav", 2*m.junkLike(section) + 2*m.junkLike(navEntry) + m.points(nil, []string{"SITE", "TYPE", "SETS"})},
		{"capability-look-alike", m.lookAlike(d)},
	} {
		if f.points > most {
			best, most = f.name, f.points
		}
	}
	return best
}

// jaspervanveen: API-Docs and MCP-Server alone are common pointers beside
// robots rules.
func (m *textMarks) jaspervanveen() int {
	n := 2*m.junkLike(agentINI) + m.points([]string{"Allow-Training", "Allow-RAG", "Allow-Scraping", "Allow-Actions", "Agents-Txt-Version"},
		[]string{"Preferred-Interface", "Auth-Required", "Auth-Method"})
	if n == 0 {
		return 0
	}
	return n + m.points(nil, []string{"API-Docs", "MCP-Server"})
}

func isVerb(v string) bool { return v == "read" || v == "propose" || v == "write" }

// points gives two for each key that only one format has, one for others.
func (m *textMarks) points(own, shared []string) int {
	n := 0
	for _, k := range own {
		if m.keys[k] {
			n += 2
		}
	}
	for _, k := range shared {
		if m.keys[k] {
			n++
		}
	}
	return n
}

// value is 1 if some field of that name has such a value.
func (m *textMarks) value(key string, ok func(string) bool) int {
	for _, f := range m.fields {
		if equalFold(f.key, key) && ok(f.value) {
			return 1
		}
	}
	return 0
}

func (m *textMarks) junkLike(re *regexp.Regexp) int {
	for _, l := range m.lines {
		if l[0] != '#' && re.MatchString(l) {
			return 1
		}
	}
	return 0
}

func (m *textMarks) literal(line string) int { return b2i(slices.Contains(m.lines, line)) }

func (m *textMarks) comment(prefix string) int {
	return b2i(slices.ContainsFunc(m.comments, func(c string) bool { return strings.HasPrefix(c, prefix) }))
}

// isPointer: one or two lines that name another place.
func (m *textMarks) isPointer() bool {
	if len(m.lines) > 4 || len(m.lines)-len(m.comments) > 2 {
		return false
	}
	for _, l := range m.lines {
		if l[0] != '#' && (otherFile.MatchString(l) || pointerURL.MatchString(l) && pointing.MatchString(l)) {
			return true
		}
	}
	return false
}

func (m *textMarks) isSrijal() bool {
	rules, all := 0, 0
	for _, l := range m.lines {
		if l[0] == '#' {
			continue
		}
		if all == 0 && srijalHash.MatchString(l) {
			return true
		}
		all++
		if srijalRule.MatchString(l) {
			rules++
		}
	}
	return rules > 0 && 2*rules > all
}

func (m *textMarks) agentsTxtCom() int {
	n := m.points(nil, []string{"Protocols", "Payments", "Authorization", "Identity", "MCP", "Skills", "A2A", "UCP", "WebMCP"})
	for _, c := range m.comments {
		low := strings.ToLower(c)
		if strings.Contains(low, "standard:") && (strings.Contains(low, "agents-txt.com") || strings.Contains(low, "agentstxt.dev")) {
			n += 4
			break
		}
	}
	if m.folded["capability"] {
		return 0
	}
	return n
}

func (m *textMarks) agentsProtocol() int {
	n := m.points([]string{"Flow-Description", "Session-TTL", "Audit-Endpoint", "Capabilities-URL", "Agent-API", "Session-Endpoint"},
		[]string{"Flow", "Audit"})
	if m.keys["URL"] && (m.keys["Site"] || m.keys["Name"] && m.keys["Capabilities"]) {
		n++
	}
	return n + m.value("Allow", func(v string) bool { return word.MatchString(v) && !isVerb(v) })
}

func (m *textMarks) crashland() int {
	n := m.points([]string{"Preferred-Interaction"}, []string{"Booking", "Rate-Limits"})
	for _, f := range m.fields {
		if f.key == "Capabilities" && f.value == "" && strings.HasPrefix(f.next, "- name:") {
			return n + 2
		}
	}
	return n
}

func (m *textMarks) agentLayer() int {
	n := m.value("Rate-limit", perSeconds.MatchString) + m.value("Auth", authURL.MatchString) + b2i(m.keys["Preferred-interface"])
	if m.folded["user-agent"] && m.folded["deny"] {
		n += 2
	}
	return n + b2i(m.keys["Auth-docs"] && m.folded["user-agent"])
}

func (m *textMarks) actorial() int {
	n := 2 * m.value("Authorization", func(v string) bool { return v == "session" })
	if !m.keys["Site"] || n == 0 && !m.keys["LLMs"] {
		return 0
	}
	return n + m.points(nil, []string{"Site", "MCP", "UCP", "WebMCP", "OpenAPI", "LLMs"})
}

// lookAlike: Capability blocks with Path, Body or Returns.
func (m *textMarks) lookAlike(d *Document) int {
	found := map[string]bool{}
	for _, c := range d.Declaration.Capabilities {
		for _, x := range c.extra {
			switch name := strings.ToLower(x.Name.Value); name {
			case "path", "body", "returns":
				found[name] = true
			}
		}
	}
	if len(found) == 0 {
		return 0
	}
	return 1 + len(found)
}

func (m *textMarks) isRobots() bool {
	return m.folded["user-agent"] && (m.folded["allow"] || m.folded["disallow"] || m.folded["sitemap"] || m.folded["crawl-delay"])
}

// general names a format of general use.
func (m *textMarks) general() string {
	switch {
	case m.isRobots():
		return "robots"
	case m.isYAML():
		return "yaml"
	case m.isMarkdown():
		return "markdown"
	case len(m.fields) > 0 && len(m.fields) >= len(m.junk):
		return "ad-hoc"
	}
	return ""
}

func (m *textMarks) isYAML() bool {
	nested := 0
	for _, f := range m.fields {
		if !f.indented && f.key != strings.ToLower(f.key) {
			return false
		}
		if f.value == "" && !f.indented && (strings.HasPrefix(f.next, "- ") || keyForm.MatchString(firstKey(f.next))) {
			nested++
		}
	}
	items := 0
	for _, l := range m.junk {
		if strings.HasPrefix(l, "- ") || l == "---" {
			items++
		}
	}
	return nested > 0 && items == len(m.junk)
}

func firstKey(line string) string {
	key, _, _ := strings.Cut(line, ":")
	return key
}

var (
	listItem = regexp.MustCompile(`^[-*+] `)
	mdLink   = regexp.MustCompile(`\[[^\]]+\]\([^)]+\)`)
)

func (m *textMarks) isMarkdown() bool {
	heading, title, marks := 0, 0, 0
	for _, l := range m.lines {
		switch {
		case strings.HasPrefix(l, "## "), strings.HasPrefix(l, "### "):
			heading++
		case strings.HasPrefix(l, "# "):
			title++
		}
	}
	for _, l := range m.junk {
		if listItem.MatchString(l) || mdLink.MatchString(l) {
			marks++
		}
	}
	fields := 0
	for _, f := range m.fields {
		if strings.Contains(f.key, " ") || listItem.MatchString(f.key) {
			continue // prose with a colon
		}
		fields++
	}
	prose := len(m.junk) + len(m.fields) - fields
	if fields > prose {
		return false
	}
	return heading > 0 && prose > 0 || marks > 0 || strings.HasPrefix(m.lines[0], "# ") && title > 0 && prose > 0
}
