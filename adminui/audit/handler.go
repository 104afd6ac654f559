// Package audit shows the audit trail: who changed what, and why.
package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
)

// Reader reads the audit trail.
type Reader interface {
	Audit(ctx context.Context, business core.BusinessID, f console.EntryFilter) ([]console.Entry, error)
	SearchAudit(ctx context.Context, business core.BusinessID, f console.EntryFilter,
		text string) ([]console.Entry, console.SearchProgress[console.Entry], error)
	AuditEntry(ctx context.Context, business core.BusinessID, id core.ID) (console.Entry, error)
}

// Pages are the pages of the audit trail.
type Pages struct{ Trail Reader }

// HubPage describes the audit trail of the hub.
func (p Pages) HubPage() shell.Page {
	const path = shell.AuditPath
	return shell.Page{Path: path, Label: text.HubAudit,
		Routes: []shell.Route{
			shell.Get(path, access.Admin, p.List),
			shell.Get(path+":id/", access.Admin, p.One),
		}}
}

// Page describes the audit trail of a business.
func (p Pages) Page() shell.Page {
	const path = shell.BusinessPath + "audit/"
	return shell.Page{Path: path, Label: text.Audit,
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.List),
			shell.Get(path+":id/", access.Viewer, p.One),
		},
		Filters: &shell.Filters{Names: filterNames, Check: shell.CheckBy(parseFilter)}}
}

// read reads a page of the list, or searches.
func (p Pages) read(ctx context.Context, v *shell.PageContext, f filter) ([]console.Entry, shell.Searched, error) {
	f.Limit = v.Limit()
	f.Before, _ = uuid.Parse(v.Query.Get("before"))
	if f.text == "" {
		found, err := p.Trail.Audit(ctx, v.Business.ID, f.EntryFilter)
		return found, shell.Searched{}, err
	}
	f.Limit = v.SearchLimit()
	found, progress, err := p.Trail.SearchAudit(ctx, v.Business.ID, f.EntryFilter, f.text)
	return found, shell.Searched{Rows: progress.Searched, Until: progress.Last.At, Cursor: progress.Last.ID.String(),
		Done: progress.Done, Oldest: f.Oldest}, err
}

// List shows the audit trail of the business, or of the hub when there is no business.
func (p Pages) List(c *fiber.Ctx, v *shell.PageContext) error {
	f, err := parseFilter(v.Query.Get, v.Now, v.Zone)
	if err != nil {
		return err
	}
	found, searched, err := p.read(c.UserContext(), v, f)
	if err != nil {
		return err
	}
	list := ui.List{Name: text.Audit, EmptyTitle: text.NoAuditTitle, EmptyText: text.NoAuditText,
		Filters: []ui.Filter{{Name: "actor", Label: text.Actor, Value: f.Actor, Hint: "user:sam@example.com"},
			{Name: "action", Label: text.Action, Value: f.Action, Hint: "webhook.pause"},
			{Name: "object", Label: text.Object, Value: f.Object, Hint: "webhook/7"},
			{Name: "text", Label: text.TextInAudit, Value: f.text, Hint: text.TextInHint}},
		Columns: []ui.Column{{Label: text.At, Key: "at"}, {Label: text.Actor, Key: "actor"}, {Label: text.Action},
			{Label: text.Object, Key: "object"}, {Label: text.Reason, Kind: ui.Wide, Key: "reason"},
			{Label: text.Changes, Kind: ui.Wide, Key: "changes"}, {Label: "ID", Key: "id", Extra: true}}}
	f.times.AddTo(&list, v, text.Time, shell.AnyTime)
	list.Sorts, list.Sort = shell.TimeSorts("at"), v.Query.Get("sort")
	if f.text != "" {
		v.ShowProgress(&list, searched, f.times)
	}
	for _, e := range found {
		why, changes := summarize(e.Detail)
		list.AddAt(e.ID.String(), ui.TimeCell(v.At(e.At)).WithExactTime(), ui.T(e.Actor),
			ui.LinkCell(e.Action, listPath(v)+e.ID.String()+"/"), objectCell(v, e), ui.T(why), ui.T(changes),
			ui.CodeCell(e.ID.String()))
	}
	head := shell.Head{Title: text.Audit, Live: v.Business.ID != 0 && f.text == ""}
	if v.Business.ID == 0 {
		head.Title = text.HubAudit
	}
	return v.ShowList(c, head, list, "before")
}

// listPath returns the path of the list.
func listPath(v *shell.PageContext) string {
	if v.Business.ID == 0 {
		return shell.AuditPath
	}
	return v.Link("audit/")
}

// One shows an entry and compares its before and after values.
func (p Pages) One(c *fiber.Ctx, v *shell.PageContext) error {
	id, err := uuid.Parse(c.Params("id"))
	if err != nil {
		return core.Errorf(core.NotFound, text.NotFound)
	}
	e, err := p.Trail.AuditEntry(c.UserContext(), v.Business.ID, id)
	if err != nil {
		return err
	}
	var detail struct{ Before, After jsontext.Value }
	if err := json.Unmarshal(e.Detail, &detail, json.MatchCaseInsensitiveNames(true)); err != nil {
		return err
	}
	why, changes := summarize(e.Detail)
	facts := []ui.Fact{{Label: text.At, Cell: ui.TimeCell(v.At(e.At))}, {Label: text.Actor, Cell: ui.T(e.Actor)},
		{Label: text.Object, Cell: objectCell(v, e)},
		{Label: text.Reason, Cell: ui.T(why)}, {Label: text.Changes, Cell: ui.T(changes)}}
	return v.Show(c, shell.Head{Title: e.Action, Note: text.AuditEntry,
		Parent: ui.Link{Href: listPath(v), Label: text.Audit}},
		templ.Join(ui.FactsOf(facts), ui.DiffOf(ui.Compare(ui.Diff{Before: text.DiffWas, After: text.DiffIs},
			detail.Before, detail.After))))
}

// objectCell links the object of an entry if it has a page.
func objectCell(v *shell.PageContext, e console.Entry) ui.Cell {
	_, id, _ := strings.Cut(e.Object, "/")
	href := v.ObjectLink(e.Object)
	return ui.Cell{Text: e.Object, Href: href, Code: href != "" && uuid.Validate(id) == nil}
}

// summarize returns the reason of an entry, and its other details joined by commas.
func summarize(detail []byte) (why, changes string) {
	var all map[string]jsontext.Value
	if json.Unmarshal(detail, &all) != nil {
		return "", ""
	}
	for _, name := range []string{"why", "reason"} { // earlier releases stored "reason" for disabled webhooks
		if raw, found := all[name]; found {
			_ = json.Unmarshal(raw, &why)
			delete(all, name)
		}
	}
	var before, after map[string]jsontext.Value
	_ = json.Unmarshal(all["before"], &before)
	_ = json.Unmarshal(all["after"], &after)
	var parts []string
	for name, now := range after {
		was, existed := before[name]
		switch {
		case !existed:
			parts = append(parts, name+" "+plainValue(now))
		case string(was) != string(now):
			parts = append(parts, fmt.Sprintf("%s %s → %s", name, plainValue(was), plainValue(now)))
		}
	}
	for name, raw := range all {
		if name != "before" && name != "after" {
			parts = append(parts, name+" "+plainValue(raw))
		}
	}
	slices.Sort(parts)
	return why, strings.Join(parts, ", ")
}

// plainValue returns a JSON value without quotes.
func plainValue(raw jsontext.Value) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
