package publication

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"

	"agentaudit/audit/shell"
)

// NameIndex is the file of a folder that says what to publish where.
const NameIndex = "HOW-TO-PUBLISH.txt"

// FolderFile is one file of a kit that is handed over as a directory or an
// archive.
type FolderFile struct {
	// Name is a plain file name that is safe on every file system.
	Name    string
	Content string
}

// DecodeKit reads a kit as it is kept with a result (report.Result.FixKit,
// store.Parts.FixKit). Nothing at all is (nil, nil): the result has none,
// because there is nothing to mend or because it is older than kits are.
func DecodeKit(data json.RawMessage) (*Kit, error) {
	if len(data) == 0 {
		return nil, nil
	}
	k := new(Kit)
	if err := json.Unmarshal(data, k); err != nil {
		return nil, fmt.Errorf("the stored fix kit cannot be read: %w", err)
	}
	return k, nil
}

// Folder is the kit as files to hand over: first [NameIndex], which says what
// to publish where and what to do by hand, then the files themselves. Each has
// a name of its own, whatever the kit says.
func (k *Kit) Folder() []FolderFile {
	all := []FolderFile{{NameIndex, ""}}
	taken := map[string]bool{strings.ToLower(NameIndex): true}
	var b strings.Builder
	fmt.Fprintf(&b, "Fix kit for %s\n", plain(k.ProfileURL))
	if len(k.Files) > 0 {
		fmt.Fprintf(&b, "\nPublish\n")
	}
	for _, f := range k.Files {
		name := folderName(f.Name, taken)
		all = append(all, FolderFile{name, f.Content})
		fmt.Fprintf(&b, "\n- %s\n  at %s\n  as %s\n  %s\n", name, plain(f.URL), plain(f.ContentType), plain(f.Why))
	}
	if len(k.Files) == 0 {
		fmt.Fprintf(&b, "\nThere is no file that would mend this publication; it has to be done by hand.\n")
	}
	if len(k.Changed) > 0 {
		fmt.Fprintf(&b, "\nChanged in your %s; all else in it is as it was\n\n", NameJSON)
	}
	for _, c := range k.Changed {
		fmt.Fprintf(&b, "- %s\n", plain(c))
	}
	if len(k.ByHand) > 0 {
		fmt.Fprintf(&b, "\nBy hand\n\n")
	}
	for _, h := range k.ByHand {
		fmt.Fprintf(&b, "- %s\n", plain(h))
	}
	if len(k.Files) > 0 {
		b.WriteString("\nRead the files before you publish them.")
	}
	words := []string{"agentaudit", "audit", k.ProfileURL, "--publication"}
	if k.ReadmeURL != "" {
		words = append(words, "--readme", k.ReadmeURL)
	}
	fmt.Fprintf(&b, "\nThen check with:\n  %s\n", shell.Line(words...))
	all[0].Content = b.String()
	return all
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,40}(\.[A-Za-z0-9]{1,8})?$`)

// folderName is a name that no site has a say in unless it is a plain one.
func folderName(name string, taken map[string]bool) string {
	if !plainName.MatchString(name) || IsDeviceName(name) {
		name = NameReadme // only READMEs have names of others' choice
	}
	ending := path.Ext(name)
	stem := strings.TrimSuffix(name, ending)
	for i := 2; taken[strings.ToLower(name)]; i++ {
		name = fmt.Sprintf("%s-%d%s", stem, i, ending)
	}
	taken[strings.ToLower(name)] = true
	return name
}
