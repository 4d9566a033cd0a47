package agentstxt

import "strings"

// badRateLimit notes a limit that is not of the form (rule 38), with a hint
// at what was probably meant.
func (d *Document) badRateLimit(value string, offset int) {
	x := d.add("rate-limit", Fail, offset, "%s %s is not of the form N/window with N of 1 or more and window one of second, minute, hour, day.",
		d.name(fRateLimit), quoted(value))
	meant := "60/minute"
	value, _, _ = strings.Cut(value, " #") // a remark is part of the value
	if n, window, ok := strings.Cut(value, "/"); ok {
		n, window = trim(n), strings.ToLower(trim(window))
		for _, w := range windows {
			if isDigits(n) && strings.TrimLeft(n, "0") != "" &&
				(window == w || window == w+"s" || len(window) >= 1 && len(window) <= 3 && strings.HasPrefix(w, window)) {
				meant = strings.TrimLeft(n, "0") + "/" + w
			}
		}
	}
	if d.Form == JSONForm {
		n, w, _ := strings.Cut(meant, "/")
		x.fix(`Write: "rateLimit": {"requests": %s, "window": "%s"}`, plain(n), w)
	} else {
		x.fix("Write:   Rate-Limit: %s", plain(meant))
	}
	d.lose(offset, "a rate limit that cannot be read")
}

// oneParameter keeps a parameter; the same name and location twice is worth a
// warning (section 2.4).
func (p *textParser) oneParameter(c *Capability, q Parameter) {
	if p.seenParams == nil {
		p.seenParams = map[string]bool{}
	}
	k := q.In.Value + " " + q.Name.Value
	if p.seenParams[k] {
		p.add("repeated", Warn, q.Name.offset, "The %s parameter %s stands in this capability already.", q.In.Value, quoted(q.Name.Value)).
			fix("Leave one of the two.")
	}
	p.seenParams[k] = true
	c.Parameters = append(c.Parameters, q)
}

// paramLine is the text form of a parameter.
func (d *Document) paramLine(q Parameter) string { return "  Param: " + paramValue(q) }

func paramValue(q Parameter) string {
	var b strings.Builder
	b.WriteString(q.Name.Value + " (" + q.In.Value + ", " + q.Type.Value)
	if q.Required {
		b.WriteString(", required")
	}
	b.WriteByte(')')
	if q.Description.Value != "" {
		b.WriteString(" - " + q.Description.Value)
	}
	return b.String()
}
