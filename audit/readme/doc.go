// Package readme reads Markdown as a visitor sees it and judges the README of
// a publication: which links are visible, and whether they lead to the
// published files and to the two projects of the convention (specification
// sections 6 and 9; seed PUBLICATION, "README and listing copy").
//
// What a README says comes from strangers, so the cost of reading it is
// linear in its length. goldmark finds the blocks of the document (with a
// bound on nesting that no honest text reaches); the links within a block are
// found by a scanner of this package, because goldmark's own is quadratic on
// hostile text. HTML is read by the tokenizer of golang.org/x/net/html.
package readme
