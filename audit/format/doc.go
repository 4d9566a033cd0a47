// Package format writes results of audits in the forms that CI systems read:
// SARIF 2.1.0, JUnit XML and Markdown, and reads a [Baseline] of findings that
// are known already.
//
// All writers take the results one by one and need little memory however long
// the list is. They are pure: no clock, no network, and the same results give
// the same bytes.
//
// Texts come from sites and lists, and are hostile: in SARIF they can be no
// link, in XML no markup, in Markdown neither; control and invisible
// characters are gone in all of them.
package format
