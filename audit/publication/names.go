package publication

import (
	"strings"

	"agentaudit/fetch/weburl"
)

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
