// Package publication writes the files of a publication: from a valid profile
// the four files that its owner publishes ([Bundle]), from the facts of an
// audit those that mend it ([FixKit]), and a profile to start with ([Starter]);
// seed PUBLICATION, GENERATOR and QUICKSTART, specification sections 5, 6 and 8.
//
// Names, descriptions and titles come from strangers. In README.md and
// LISTING.md they are plain words on one line: no markup, link, heading, HTML
// or control sequence of theirs survives in any of the usual renderers.
//
// Nothing here reads the network or a clock; the same input gives the same
// bytes.
package publication
