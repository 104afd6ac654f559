// Package history lists changes of menus and stores, compares values, shows an item at an earlier time, and rolls
// back.
package history

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/menu"
)

// Revisions reads revisions and their differences.
type Revisions interface {
	Revisions(ctx context.Context, business core.BusinessID, f menu.RevisionFilter) ([]menu.Revision, error)
	Revision(ctx context.Context, business core.BusinessID, id core.ID) (menu.Revision, error)
	DifferencesOf(ctx context.Context, business core.BusinessID,
		of menu.DifferenceQuery) (map[core.ID][]menu.Difference, error)
	Present(ctx context.Context, business core.BusinessID, d menu.Difference) (jsontext.Value, error)
	FirstNames(ctx context.Context, business core.BusinessID, revisions []core.ID) (map[core.ID][]string, error)
}

// Snapshots reads earlier states of items.
type Snapshots interface {
	ResolveLocation(ctx context.Context, business core.BusinessID, location string) (core.Business, menu.Scope, error)
	ItemAsOf(ctx context.Context, business core.BusinessID, past menu.PastItem) (menu.ItemAsOf, error)
	PreviewRollback(ctx context.Context, business core.BusinessID, to core.ID) (menu.RollbackPreview, error)
}

// Menus is what the pages read of menus.
type Menus interface {
	Revisions
	Snapshots
}

// Platforms lists the platforms of a business.
type Platforms interface {
	Platforms(ctx context.Context, business core.BusinessID) ([]core.Platform, error)
}

// JobQueue queues jobs.
type JobQueue interface {
	QueueJob(ctx context.Context, work core.Job, change access.Change) error
}

// Pages is the history pages.
type Pages struct {
	Platforms Platforms
	Queue     JobQueue
	Menus     Menus
}

// Page describes the pages.
func (p Pages) Page() shell.Page {
	const path = shell.BusinessPath + "history/"
	return shell.Page{Path: path, Label: text.History,
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.List),
			shell.Get(path+"item/", access.Viewer, p.ItemAsOf),
			shell.Get(path+":id/", access.Viewer, p.One),
			shell.Get(path+":id/diff/", access.Viewer, p.Diff),
			shell.Get(path+":id/rollback/", access.Support, p.PreviewRollback),
			shell.Post(path+":id/rollback/", access.Support, p.QueueRollback),
			shell.Get(path+":id/restore/", access.Support, p.PreviewRestore),
			shell.Post(path+":id/restore/", access.Support, p.QueueRestore),
		},
		Done: map[string]string{"back": text.RollbackQueued, "restore": text.RestoreQueued}}
}

var kindLabels = map[string]string{"menu": text.ChangeMenu, "stores": text.ChangeStores,
	"timing_groups": text.ChangeTimings, "rollback": text.ChangeRollback, "switch": text.ChangeSwitch}

// KindLabel names a kind of revision.
func KindLabel(kind string) string { return kindLabels[kind] }

// revisionLink returns the path of a revision.
func revisionLink(v *shell.PageContext, id core.ID) string {
	return v.Link("history/" + id.String() + "/")
}

// objectFilter returns the object in the query. Without an entity it is an item.
func objectFilter(v *shell.PageContext) menu.RevisionFilter {
	f := menu.RevisionFilter{Entity: v.Query.Get("entity"), RefID: strings.TrimSpace(v.Query.Get("ref"))}
	if f.RefID != "" && !slices.Contains(menu.RevisionEntities(), f.Entity) {
		f.Entity = menu.Items.String()
	}
	return f
}

// withObject adds the object of f, if any, and further parameters such as from=25 to the path of a page.
func withObject(page string, f menu.RevisionFilter, query ...string) string {
	if f.RefID != "" {
		query = append(query, url.Values{"entity": {f.Entity}, "ref": {f.RefID}}.Encode())
	}
	if len(query) == 0 {
		return page
	}
	return page + "?" + strings.Join(query, "&")
}

// List shows the revisions of a business.
func (p Pages) List(c *fiber.Ctx, v *shell.PageContext) error {
	f := objectFilter(v)
	f.Location, f.Limit = strings.TrimSpace(v.Query.Get("location")), v.Limit()
	f.After, _ = uuid.Parse(v.Query.Get("before"))
	found, err := p.Menus.Revisions(c.UserContext(), v.Business.ID, f)
	if err != nil {
		return err
	}
	ids := make([]core.ID, len(found))
	for i, r := range found {
		ids[i] = r.ID
	}
	notes, err := p.notes(c.UserContext(), v, ids, f)
	if err != nil {
		return err
	}
	entities := []ui.Option{{Value: "", Label: text.Any}}
	for _, name := range menu.RevisionEntities() {
		entities = append(entities, ui.Option{Value: name, Label: entityLabel(name)})
	}
	list := ui.List{Name: text.History, EmptyTitle: text.NoHistoryTitle, EmptyText: text.NoHistoryText,
		Filters: []ui.Filter{{Name: "entity", Label: text.Entity, Value: f.Entity, Options: entities},
			{Name: "ref", Label: text.EntityRef, Value: f.RefID, Hint: "ref_id"},
			{Name: "location", Label: text.Store, Value: f.Location, Hint: text.StoreRefHint}},
		Columns: []ui.Column{{Label: text.At}, {Label: text.Kind}, {Label: text.Actor},
			{Label: text.Changed, Kind: ui.Wide}, {Label: text.ChangeRequest}}}
	for _, r := range found {
		kind, changed := ui.LinkCell(kindLabels[r.Kind], withObject(revisionLink(v, r.ID), f)),
			ui.T(changeCounts(r.Changes))
		if kind.Note, changed.Note = subject(r), notes[r.ID]; f.RefID != "" {
			changed.Text, changed.Note = changed.Note, changed.Text
		}
		list.AddAt(r.ID.String(), ui.TimeCell(v.At(time.UnixMilli(r.At))).WithExactTime(), kind,
			ui.T(cause.ActorLabel(r.Actor)), changed, requestCell(v, r))
	}
	head := shell.Head{Title: text.History, Note: text.HistoryNote, Live: true,
		Links: []ui.Link{{Href: v.Link("history/item/"), Label: text.ItemThen}}}
	return v.ShowList(c, head, list, "before")
}

// maxNotes limits how many changes a row lists.
const maxNotes = 2

// notes returns for each revision its changes of the object in f, or else the first objects that it changed.
func (p Pages) notes(ctx context.Context, v *shell.PageContext, ids []core.ID,
	f menu.RevisionFilter) (map[core.ID]string, error) {
	notes := map[core.ID]string{}
	if f.RefID == "" {
		names, err := p.Menus.FirstNames(ctx, v.Business.ID, ids)
		for id, list := range names {
			notes[id] = strings.Join(list, ", ")
		}
		return notes, err
	}
	found, err := p.Menus.DifferencesOf(ctx, v.Business.ID,
		menu.DifferenceQuery{Revisions: ids, Filter: f, Limit: maxNotes + 1})
	for id, list := range found {
		var lines []string
		for i, d := range list {
			if i == maxNotes {
				lines = append(lines, "…")
				break
			}
			lines = append(lines, differenceOf(d, "", v.Business.Currency).line())
		}
		notes[id] = strings.Join(lines, "; ")
	}
	return notes, err
}

// entityLabel returns the name of an entity kind in words.
func entityLabel(entity string) string { return strings.ReplaceAll(entity, "_", " ") }

// objectLabel names one object of a type.
func objectLabel(entity string) string { return cmp.Or(text.OneOf[entity], entityLabel(entity)) }

func subject(r menu.Revision) string {
	if r.Location == menu.MasterLocation {
		return text.MasterCatalogue
	}
	return r.Location
}

// requestCell links the job of a revision. A switch has no job.
func requestCell(v *shell.PageContext, r menu.Revision) ui.Cell {
	cell := ui.CodeCell(r.Reference.String())
	if r.Kind != "switch" {
		cell.Href = v.Link("jobs/" + r.Reference.String() + "/")
	}
	return cell
}

// maxCounts limits how many counts a row lists.
const maxCounts = 4

// changeCounts lists the changed rows per entity and store, with records and associations added up.
func changeCounts(touched []menu.ChangeCount) string {
	type key struct{ entity, location string }
	rows, order := map[key]int{}, []key{}
	for _, t := range touched {
		at := key{t.Entity, t.Location}
		if rows[at] == 0 {
			order = append(order, at)
		}
		rows[at] += t.Rows
	}
	var parts []string
	for i, at := range order {
		if i == maxCounts {
			parts = append(parts, "…")
			break
		}
		if at.location == "" {
			parts = append(parts, fmt.Sprintf(text.ChangedRows, entityLabel(at.entity), ui.Number(rows[at])))
		} else {
			parts = append(parts, fmt.Sprintf(text.ChangedRowsAt, entityLabel(at.entity), ui.Number(rows[at]),
				at.location))
		}
	}
	return strings.Join(parts, ", ")
}
