// Package fetch reads single public files from servers of strangers without
// being led anywhere else (specification section 2).
//
// A [Client] is made once per process, a [Visit] once per audit or scan of one
// site. Within a visit every host is looked up once, all its addresses are
// checked, and all reads of that host share one connection to an address of
// that checked set: a TLS handshake is four fifths of what a site costs.
// Reads of one host take turns; reads of different hosts run side by side.
//
// # What is promised
//
//   - No connection is made to anything but port 443 of an address that
//     [agentaudit/fetch/publicip] calls public. One refused address among the
//     answers refuses the whole name. The address is checked again by an
//     independent table when the socket connects.
//   - The name is not looked up a second time within a visit, so an answer
//     that changes in between (DNS rebinding) has no effect.
//   - One read is one GET. Redirects are errors that carry their Location;
//     there are no cookies, credentials, referrers or proxies, and the
//     environment is not consulted.
//   - Time, header bytes, interim answers and body bytes are bounded for
//     every read, whatever the server does. Once a read has returned, nothing
//     of it goes on but, for some seconds at most, a lookup whose answer the
//     next visit may find in the cache.
//   - Every failure is an [*Error] with a [Kind] for programs, a sentence and
//     an advice for people. Text from the site is cleaned before it gets into
//     a sentence.
//
// # What is not
//
// Whether a public address belongs to the owner of a name is for the
// certificate to say; a host that shares its address with others is reached
// by name alone. An allow-list for private networks does not exist: tests and
// the demonstration use [agentaudit/fetch/fakenet], where public addresses
// are simulated inside the process.
//
// # Why not net/http's Transport
//
// The exchange is written directly on the connection, with net/http parsing
// the answer. Transport would keep two goroutines and twice the memory per
// connection, dial in the background after a read has ended, retry by rules
// of its own, log text from the site, and hide in which phase a read failed,
// which is what the owner of the site wants to know. See BenchmarkVisit.
package fetch
