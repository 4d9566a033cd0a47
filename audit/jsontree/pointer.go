package jsontree

import (
	"strconv"
	"strings"
)

// frame is one step on the way from the root to a container. Frames are made
// only for containers that hold a duplicate, and shared between them, so that
// a deep text full of duplicates stays linear.
type frame struct {
	parent *frame // nil for the root
	name   string
	index  int // of an array element, else -1
}

func (f *frame) appendPointer(dst []byte) []byte {
	var path []*frame
	for ; f != nil && f.parent != nil; f = f.parent {
		path = append(path, f)
	}
	for i := len(path) - 1; i >= 0; i-- {
		if path[i].index >= 0 {
			dst = strconv.AppendInt(append(dst, '/'), int64(path[i].index), 10)
		} else {
			dst = AppendToken(dst, path[i].name)
		}
	}
	return dst
}

// AppendToken appends a reference token to a JSON Pointer: a slash and the
// name, with ~0 for ~ and ~1 for / (RFC 6901, section 3).
func AppendToken(dst []byte, name string) []byte {
	dst = append(dst, '/')
	for {
		i := strings.IndexAny(name, "~/")
		if i < 0 {
			return append(dst, name...)
		}
		dst = append(append(dst, name[:i]...), '~', '0')
		if name[i] == '/' {
			dst[len(dst)-1] = '1'
		}
		name = name[i+1:]
	}
}

// Pointer makes a JSON Pointer of unescaped tokens; "" is the document.
func Pointer(tokens ...string) string {
	var dst []byte
	for _, t := range tokens {
		dst = AppendToken(dst, t)
	}
	return string(dst)
}
