package sitelist

import (
	"bytes"
	"fmt"
	"io"
	"sort"
)

// feed gives a decoder its bytes. It knows the lines, so that errors can name
// them, and ends where one value would need too much memory.
type feed struct {
	in *input
	// given counts the bytes handed out, used those that are done with.
	given, used int64
	// line is that of the byte at used; ends has the line ends behind it.
	line int64
	ends []int64
	// what names a value in the error for too large ones.
	what string
	err  error
}

func newFeed(in *input, what string) *feed { return &feed{in: in, line: 1, what: what} }

func (f *feed) Read(p []byte) (int, error) {
	if f.given-f.used > MaxElement+bufferSize {
		f.err = f.in.fail(f.line, f.used, nil, "%s is larger than %d bytes; it cannot be read, nor what follows it", f.what, MaxElement)
		return 0, f.err
	}
	n, err := f.in.r.Read(p[:min(len(p), bufferSize)])
	for i := 0; ; {
		j := bytes.IndexByte(p[i:n], '\n')
		if j < 0 {
			break
		}
		i += j + 1
		f.ends = append(f.ends, f.given+int64(i))
	}
	f.given += int64(n)
	if err != nil && err != io.EOF {
		f.err = f.in.readError(f.lineAt(f.given), f.given, err)
		err = f.err
	}
	return n, err
}

// done says that the bytes before offset are not needed any more.
func (f *feed) done(offset int64) {
	n := sort.Search(len(f.ends), func(i int) bool { return f.ends[i] > offset })
	f.line += int64(n)
	f.ends = append(f.ends[:0], f.ends[n:]...)
	f.used = offset
}

func (f *feed) lineAt(offset int64) int64 {
	return f.line + int64(sort.Search(len(f.ends), func(i int) bool { return f.ends[i] > offset }))
}

// fail puts the error of a decoder in words; a trouble of our own goes first.
func (f *feed) fail(offset int64, cause error, format string, args ...any) error {
	if f.err != nil {
		return f.err
	}
	return f.in.fail(f.lineAt(offset), offset, cause, "%s", fmt.Sprintf(format, args...))
}
