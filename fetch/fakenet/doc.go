// Package fakenet is a small internet inside the process: names, public
// addresses, certificates and web servers with good and bad manners. The
// tests and the demonstration read it through the very code that reads the
// real one; nothing leaves the process, and a connection to anything but a
// public address on port 443 is refused and kept as evidence.
//
//	net := fakenet.New(fakenet.Options{})
//	defer net.Close()
//	net.Static("site.example", "/agentic.json", 200, fakenet.JSON, `{"agentic":"1.0.0"}`)
//	client := net.Client(fetch.Config{})
//
// A site that was mentioned exists: it has an address, a certificate, and
// answers 404 with the text "Missing" to whatever it was not given. A name
// that was not mentioned does not exist.
//
// Connections are buffered pipes, so that everything also runs in a
// testing/synctest bubble, where time limits cost no time. With
// [Options.Loopback] they are TCP connections on 127.0.0.1 instead, for
// benchmarks and for errors as the kernel makes them.
package fakenet
