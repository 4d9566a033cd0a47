// Package dashboard shows what the store holds to people, and lets them steer
// it: a small server-rendered web site.
//
// A page is a function from a request to a typed struct; a template of the same
// name shows the struct and nothing else. Pages work without JavaScript; a
// small script of our own adds live numbers, copy buttons and local times.
//
// # Safety
//
// All text from lists and sites is hostile. It reaches a page through
// html/template alone, and the content security policy allows no inline script
// or style and nothing from other hosts. [Config.Hosts] keeps web pages of
// strangers from reading the dashboard through a name of theirs.
//
// Without [Config.Users] everybody who can reach the dashboard may do
// everything, which is for one's own machine. With it, a page is
// open to a session (a cookie) or a token (Authorization: Bearer). All that
// changes something is a POST, and is refused where it comes from another
// origin.
package dashboard
