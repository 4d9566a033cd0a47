package producer

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"

	"agentaudit/store"
)

// Plain leaves out of batches and schedules what may be secret in the addresses
// of their lists and receivers, so that they can be shown.
type Plain struct {
	// Paths leaves the paths of files whole: for the commands of whoever has
	// them, and for nobody else.
	Paths bool
}

// Batch makes a batch plain: its options, and its note.
func (p Plain) Batch(b *store.Batch) {
	var words []string
	b.Options, words = p.options(b.Options)
	b.Note = p.text(b.Note, words)
}

// Batches makes batches plain.
func (p Plain) Batches(list []store.Batch) {
	for i := range list {
		p.Batch(&list[i])
	}
}

// Schedule makes a schedule plain: its options, its webhook, and its last error.
func (p Plain) Schedule(v *store.Schedule) {
	var words []string
	v.Options, words = p.options(v.Options)
	v.LastError = p.text(v.LastError, words)
	if v.Webhook != nil {
		w := *v.Webhook
		w.URL = store.PlainReceiver(w.URL)
		v.Webhook = &w
	}
}

// Schedules makes schedules plain.
func (p Plain) Schedules(list []store.Schedule) {
	for i := range list {
		p.Schedule(&list[i])
	}
}

// text makes a text plain; words are pairs of what is said in another way.
func (p Plain) text(s string, words []string) string {
	if s == "" {
		return ""
	}
	return store.PlainText(strings.NewReplacer(words...).Replace(s))
}

// options makes options plain, and gives what was replaced in them. Options
// that have nothing to hide stay as they are, to the byte.
func (p Plain) options(raw json.RawMessage) (json.RawMessage, []string) {
	if len(raw) == 0 {
		return raw, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var o any
	if err := d.Decode(&o); err != nil {
		return json.RawMessage(`{}`), nil // they are none of ours
	}
	var words []string
	o = p.value(o, "", &words)
	if words == nil {
		return raw, nil
	}
	plain, err := json.Marshal(o)
	if err != nil {
		return json.RawMessage(`{}`), words
	}
	return plain, words
}

// value makes a value of options plain: every address in it, whatever the member
// that holds it, and files.
func (p Plain) value(v any, member string, words *[]string) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = p.value(v[name], name, words)
		}
	case []any:
		for i := range v {
			v[i] = p.value(v[i], member, words)
		}
	case string:
		plain := v
		switch {
		case strings.Contains(v, "://"):
			plain = store.PlainAddress(v)
		case member == "files" && !p.Paths && v != StandardInput:
			plain = filepath.Base(v)
		}
		if plain != v {
			*words = append(*words, v, plain)
		}
		return plain
	}
	return v
}
