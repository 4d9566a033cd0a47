package audit

import (
	"slices"
	"strconv"
	"strings"

	"agentaudit/audit/jsontree"
	"agentaudit/audit/profile"
)

// unreadable notes what a profile holds that is not taken over at all.
func (a *amendment) unreadable(doc *profile.Document) {
	problems, _ := doc.DuplicateProblems()
	for _, p := range problems {
		a.note("%s stands twice in one object; the last of the two is kept", profile.ShowPointer(p.Pointer))
	}
	if len(problems) > 0 {
		return
	}
	optional := []string{"title", "operationId", "summary", "$schema"}
	for _, p := range doc.Validate(profile.Options{}).Problems {
		name := p.Pointer[strings.LastIndexByte(p.Pointer, '/')+1:]
		if p.Code == profile.CodeUnknown || p.Code == profile.CodeType && slices.Contains(optional, name) {
			a.note("%s is left out: %s", profile.ShowPointer(p.Pointer), p.Message)
		}
	}
}

// drops are the places of a profile that are left out.
type drops struct {
	resources, apis map[int]bool
	operations      map[[2]int]bool
}

// repair changes or leaves out what breaks the rules of a site profile. It
// returns false where nothing helps.
func (a *amendment) repair(problems []profile.Problem) bool {
	d := drops{map[int]bool{}, map[int]bool{}, map[[2]int]bool{}}
	s := &a.site
	s.Resources, s.APIs = slices.Clone(s.Resources), slices.Clone(s.APIs)
	for _, p := range problems {
		tokens := append(strings.Split(p.Pointer, "/")[1:], "", "", "", "", "")
		first, _ := strconv.Atoi(tokens[1])
		second, _ := strconv.Atoi(tokens[3])
		switch {
		case tokens[0] == "resources" && tokens[1] != "" && first >= len(s.Resources), tokens[0] == "apis" && tokens[1] != "" && first >= len(s.APIs):
			// It is left out already, with others beyond the limit.
		case tokens[0] == "name":
			if !a.text("name", &s.Name, profile.MaxNameLength, p) {
				return false
			}
		case tokens[0] == "description":
			if !a.text("description", &s.Description, profile.MaxDescriptionLength, p) {
				return false
			}
		case tokens[0] == "resources" && tokens[1] == "":
			if !a.refill() {
				return false
			}
		case tokens[0] == "resources" && tokens[2] == "title":
			a.text("the title of "+named(s.Resources[first].URL), &s.Resources[first].Title, profile.MaxTitleLength, p)
		case tokens[0] == "resources" && tokens[2] == "availability":
			s.Resources[first].Availability = a.availability(s.Resources[first])
			a.note("the availability of %q is %s: %s", named(s.Resources[first].URL), s.Resources[first].Availability, p.Message)
		case tokens[0] == "resources" && tokens[2] == "source" && s.Resources[first].Source != s.Origin+"/":
			s.Resources[first].Source = s.Origin + "/"
			a.note("the source of %q is the start page: %s", named(s.Resources[first].URL), p.Message)
		case tokens[0] == "resources":
			if !d.resources[first] {
				d.resources[first] = true
				a.note("resource %q is left out: %s", named(s.Resources[first].URL), p.Message)
			}
		case tokens[0] == "apis" && tokens[1] == "":
			a.note("the indexes of %d APIs are left out: %s", len(s.APIs)-profile.MaxAPIs, p.Message)
			s.APIs = s.APIs[:profile.MaxAPIs]
		case tokens[0] == "apis" && tokens[2] == "operations" && tokens[3] == "":
			a.note("the operations of %q are cut to the first %d: %s", named(s.APIs[first].Document), profile.MaxOperations, p.Message)
			s.APIs[first].Operations = s.APIs[first].Operations[:profile.MaxOperations]
		case tokens[0] == "apis" && tokens[2] == "operations":
			if second < len(s.APIs[first].Operations) {
				a.operation(&d, first, second, tokens[4], p)
			}
		case tokens[0] == "apis":
			if !d.apis[first] {
				d.apis[first] = true
				a.note("the operations of %q are left out: %s", named(s.APIs[first].Document), p.Message)
			}
		default: // the size
			return false
		}
	}
	a.drop(d)
	return true
}

// availability is what the scan knows of a resource, else linked.
func (a *amendment) availability(r profile.Resource) profile.Availability {
	if a.made != nil {
		for _, m := range a.made.Resources {
			if m.Kind == r.Kind && m.URL == r.URL {
				return m.Availability
			}
		}
	}
	return profile.Linked
}

// text cuts a text that is too long and takes that of the scan for one that is
// missing; a title that is empty is left out.
func (a *amendment) text(what string, s *string, most int, p profile.Problem) bool {
	made := ""
	if a.made != nil {
		made = map[string]string{"name": a.made.Name, "description": a.made.Description}[what]
	}
	switch {
	case jsontree.RuneCount(*s) > most:
		*s = cutTo(*s, most)
		a.note("%s is cut to %d characters: %s", what, most, p.Message)
	case made == "":
		return false
	default:
		*s = made
		a.note("%s is what a scan found: %s", what, p.Message)
	}
	return true
}

// cutTo shortens a text to a number of code points.
func cutTo(s string, most int) string {
	r := []rune(wellFormed1(s))
	return string(r[:min(len(r), most)])
}

func (a *amendment) operation(d *drops, api, i int, member string, p profile.Problem) {
	operations := slices.Clone(a.site.APIs[api].Operations)
	o := &operations[i]
	switch member {
	case "summary":
		o.Summary = cutTo(o.Summary, profile.MaxSummaryLength)
		a.note("a summary is cut: %s: %s", profile.ShowPointer(p.Pointer), p.Message)
	case "operationId":
		o.OperationID = ""
		a.note("an operationId is left out: %s: %s", profile.ShowPointer(p.Pointer), p.Message)
	default:
		if key := [2]int{api, i}; !d.operations[key] {
			d.operations[key] = true
			a.note("%s is left out: %s", named(o.Method+" "+o.Path), p.Message)
		}
	}
	a.site.APIs[api].Operations = operations
}

// refill makes the resources as many as there have to be: it cuts a list that
// is too long, and adds what the scan found to one in which nothing can be read.
func (a *amendment) refill() bool {
	s := &a.site
	if len(s.Resources) > profile.MaxResources {
		a.note("the resources are cut to the first %d; the others are left out", profile.MaxResources)
		s.Resources = s.Resources[:profile.MaxResources]
		return true
	}
	if a.made == nil {
		return false
	}
	added, read := 0, 0
	for _, r := range a.made.Resources {
		i := slices.IndexFunc(s.Resources, func(old profile.Resource) bool { return old.Kind == r.Kind && old.URL == r.URL })
		switch {
		case i >= 0 && r.Availability == profile.Retrieved:
			s.Resources[i].Availability = profile.Retrieved
			read++
		case i < 0 && len(s.Resources) < profile.MaxResources:
			s.Resources = append(s.Resources, r)
			added++
		}
	}
	if read > 0 {
		a.note("%s as retrieved instead of linked: a scan could read that, and a profile needs a resource that can be read", count(read, "resource is listed", "resources are listed"))
	}
	for _, api := range a.made.APIs {
		known := slices.ContainsFunc(s.APIs, func(old profile.API) bool { return old.Document == api.Document })
		if !known && len(s.APIs) < profile.MaxAPIs {
			s.APIs = append(s.APIs, api)
		}
	}
	if added > 0 {
		a.note("%s added that a scan found, because nothing is left that can be read", count(added, "resource is", "resources are"))
	}
	return added+read > 0
}

// drop leaves the places out.
func (a *amendment) drop(d drops) {
	s := &a.site
	var resources []profile.Resource
	for i, r := range s.Resources {
		if !d.resources[i] {
			resources = append(resources, r)
		}
	}
	var apis []profile.API
	for i, api := range s.APIs {
		if d.apis[i] {
			continue
		}
		var operations []profile.Operation
		for k, o := range api.Operations {
			if !d.operations[[2]int{i, k}] {
				operations = append(operations, o)
			}
		}
		api.Operations = operations
		apis = append(apis, api)
	}
	s.Resources, s.APIs = resources, apis
}
