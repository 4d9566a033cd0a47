package resolve

import "fmt"

// Error is a failed lookup.
type Error struct {
	// Host is the name that was asked for.
	Host string
	// NotFound means that the name servers said so: the name does not exist,
	// or has no address. All else is a failure of the name servers or of the
	// way to them.
	NotFound bool
	// Detail is half a sentence for people ("it has no address").
	Detail string
	// Err is the cause, nil where the answer itself is the cause.
	Err error
}

// Error names the host and the detail.
func (e *Error) Error() string {
	s := fmt.Sprintf("looking up %s: %s", e.Host, e.Detail)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }
