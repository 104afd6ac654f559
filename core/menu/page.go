package menu

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/servery-hub/servery/core"
)

// MaxPage bounds the objects of one page.
const MaxPage = 15000

// View selects a part of a stored menu: some kinds, and a page of these. Objects are ordered by kind, then by ref_id.
type View struct {
	Only      PerKind[bool] // all false: every kind
	Limit     int           // objects on the page; 0 for all
	AfterKind Kind          // the page begins after this object
	AfterName string        // "" for the first page
}

// ParseView parses the query parameters only (names of kinds, separated by commas), limit and after (from
// APIMenu.Next). Each may be "". It returns an Invalid error that names the parameter.
func ParseView(only, limit, after string) (View, error) {
	var view View
	var v core.Violations
	for _, name := range strings.Split(only, ",") {
		kind, known := parseKind(strings.TrimSpace(name))
		switch {
		case known:
			view.Only[kind] = true
		case only != "":
			v.AddBody("only", "value", core.OneOf(kindNames[:], strings.TrimSpace(name)))
		}
	}
	if limit != "" {
		n, err := strconv.Atoi(limit)
		if err != nil || n < 1 || n > MaxPage {
			v.AddBody("limit", "range", fmt.Sprintf("must be a whole number from 1 to %d, not %s", MaxPage,
				core.Quote(limit)))
		}
		view.Limit = n
	}
	if after != "" {
		name, key, found := strings.Cut(after, ":")
		kind, known := parseKind(name)
		if !found || !known || key == "" {
			v.AddBody("after", "value", "must be the next value of an earlier response")
		}
		view.AfterKind, view.AfterName = kind, key
	}
	return view, v.Err()
}

func parseKind(name string) (Kind, bool) {
	for _, kind := range Kinds() {
		if kind.String() == name {
			return kind, true
		}
	}
	return 0, false
}

// Includes reports whether the page can contain the kind, even as an empty array.
func (v View) Includes(kind Kind) bool {
	return (v.Only[kind] || v.Only == PerKind[bool]{}) && (v.AfterName == "" || kind >= v.AfterKind)
}

// page collects the objects of a page while it is rendered.
type page struct {
	view  View
	count int
	last  string
	next  string
}

func (v View) page() *page { return &page{view: v} }

func (p *page) after(kind Kind, name string) bool {
	return p.view.AfterName == "" || kind > p.view.AfterKind || kind == p.view.AfterKind && name > p.view.AfterName
}

// add adds an object to the page. It returns false if the page is full.
func (p *page) add(kind Kind, name string) bool {
	if p.view.Limit > 0 && p.count == p.view.Limit {
		p.next = p.last
		return false
	}
	p.count++
	p.last = kind.String() + ":" + name
	return true
}
