package store

import (
	"encoding/json"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// hidden ends an address of which something was left out.
const hidden = " …"

// PlainAddress leaves out of an address what may be secret: the user, and what
// stands behind the path. One of which something was left out ends in " …"; it is
// the same when it is made plain again.
func PlainAddress(raw string) string {
	raw, secret := strings.CutSuffix(raw, hidden)
	u, err := url.Parse(raw)
	if err != nil {
		return "an address that cannot be read"
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		secret = true
		u.User, u.RawQuery, u.Fragment, u.RawFragment = nil, "", "", ""
	}
	u.ForceQuery = false
	if secret {
		return u.String() + hidden
	}
	return u.String()
}

// PlainSource is the name of a list as it may be shown: of an address what
// [PlainAddress] leaves, of the path of a file its last part.
func PlainSource(name string) string {
	switch {
	case strings.Contains(name, "://"):
		return PlainAddress(name)
	case path.IsAbs(name):
		return path.Base(name)
	}
	return name
}

// plainSources are the names of lists as they may be shown.
func plainSources(names []string) []string {
	plain := slices.Clone(names)
	for i, name := range plain {
		plain[i] = PlainSource(name)
	}
	return plain
}

var addressInText = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]+`)

// PlainText makes all addresses in a text plain, as in the error of a list that
// could not be read.
func PlainText(s string) string {
	return addressInText.ReplaceAllStringFunc(s, func(address string) string {
		// What ends a clause is no part of the address.
		end := len(strings.TrimRight(address, ".,:;!?)]}"))
		return PlainAddress(address[:end]) + address[end:]
	})
}

// Receiver is where the message goes, without what may be secret in the address
// ([PlainAddress], and of a webhook all but the host).
func (d *Delivery) Receiver() string {
	if d.Event == EventListing {
		return PlainAddress(d.URL)
	}
	return PlainReceiver(d.URL)
}

// PlainReceiver is the address of a webhook as it may be shown: what stands
// behind the host is often the key to it.
func PlainReceiver(raw string) string {
	u, err := url.Parse(raw)
	if err == nil && u.Host != "" && strings.Trim(u.Path, "/") != "" {
		return u.Scheme + "://" + u.Host + "/…"
	}
	return PlainAddress(raw)
}

// Plain is a message as it may be shown: without what may be secret in the
// addresses that stand in it.
func (d Delivery) Plain() Delivery {
	d.URL, d.Error, d.Body = d.Receiver(), PlainText(d.Error), plainBody(d.Body)
	return d
}

// plainBody makes the sources in the body of a message plain. Older versions kept
// them whole. A body that has nothing to hide stays as it is, to the byte.
func plainBody(body json.RawMessage) json.RawMessage {
	var v any
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil // it is none of ours
	}
	members, _ := v.(map[string]any)
	changed := false
	plain := func(s string) string {
		p := PlainSource(s)
		changed = changed || p != s
		return p
	}
	if s, ok := members["source"].(string); ok {
		members["source"] = plain(s)
	}
	if list, ok := members["sources"].([]any); ok {
		for i := range list {
			if s, ok := list[i].(string); ok {
				list[i] = plain(s)
			}
		}
	}
	if !changed {
		return body
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return out
}
