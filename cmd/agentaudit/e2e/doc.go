// Package e2e holds the tests that run the program as its users get it: the
// unmodified binary, against an internet that is ours from the packet up.
//
// The test process lives in a network namespace of its own (Linux, root or
// user namespaces; elsewhere the tests are skipped, see queuetest.Require with
// the name "netns"). In it every address of the world is local: the public
// addresses of the listed sites have real servers on port 443, the name server
// of resolv.conf is ours, and a recorder sees the first packet of every
// connection to anywhere, private addresses and other ports included. Nothing
// can leave the namespace, and nothing of it is left when the tests end.
//
// The tests take some minutes; -short leaves them out. TestFaults has a long
// form, with AGENTAUDIT_FAULT_SITES=5000 and -timeout 2h.
package e2e
