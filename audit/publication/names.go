package publication

import (
	"regexp"
	"strings"

	"agentaudit/fetch/weburl"
)

var device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9]) *(\.|$)`)

// IsDeviceName reports whether Windows takes a file or a folder of this name
// for a device, whatever stands behind the first dot (Microsoft, "Naming Files,
// Paths, and Namespaces").
func IsDeviceName(name string) bool { return device.MatchString(name) }

// withoutMisspelling gives README.md for README.me; ok is false where the name
// is right.
func withoutMisspelling(u *weburl.URL) (right *weburl.URL, ok bool) {
	path := u.Path()
	if len(path) < 3 || !strings.EqualFold(path[len(path)-3:], ".me") {
		return nil, false
	}
	name := path[lastSlash(path)+1:]
	right, err := u.Resolve("./" + name[:len(name)-len("me")] + "md")
	return right, err == nil
}

func lastSlash(path string) int { return strings.LastIndexByte(path, '/') }
