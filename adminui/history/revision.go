package history

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/menu"
)

// Limits of the revision page.
const (
	differencesShown = 25
	differencesOpen  = 3
	fieldsShown      = 40
	summaryFields    = 3
	summaryWidth     = 40
	recordShown      = 2 << 10 // bytes of a created or deleted record
)

// revisionView is the view model of a revision.
type revisionView struct {
	facts                []ui.Fact
	objectNote, wholeURL string // the object shown, and the path of the whole revision; "": all objects
	undoNote             string // "": no links that undo changes
	differences          []differenceView
	first, next          string // paths of the first and next page of differences
}

// differenceView is the view model of one changed record.
type differenceView struct {
	ref, kindLabel string
	location       string // association and store, if any
	state          ui.State
	verb           string // of a created or deleted record
	summary        string
	fields         ui.List
	record         string // JSON of a created or deleted record
	diffURL        string // path of the full comparison
	restoreURL     string // path that restores the values before; "": not possible
}

// find reads the revision in the path.
func (p Pages) find(c *fiber.Ctx, v *shell.PageContext) (menu.Revision, error) {
	id, err := uuid.Parse(c.Params("id"))
	if err != nil {
		return menu.Revision{}, core.Errorf(core.NotFound, text.NotFound)
	}
	return p.Menus.Revision(c.UserContext(), v.Business.ID, id)
}

// One shows the changes of a revision.
func (p Pages) One(c *fiber.Ctx, v *shell.PageContext) error {
	r, err := p.find(c, v)
	if err != nil {
		return err
	}
	from, _ := strconv.Atoi(v.Query.Get("from"))
	from = max(from, 0)
	f := objectFilter(v)
	found, err := p.Menus.DifferencesOf(c.UserContext(), v.Business.ID,
		menu.DifferenceQuery{Revisions: []core.ID{r.ID}, Filter: f, Offset: from, Limit: differencesShown + 1})
	if err != nil {
		return err
	}
	differences, view := found[r.ID], revisionView{facts: facts(v, r)}
	if f.RefID != "" {
		view.objectNote, view.wholeURL = fmt.Sprintf(text.OnlyOf, objectLabel(f.Entity), f.RefID), revisionLink(v, r.ID)
	}
	if from > 0 {
		view.first = withObject(revisionLink(v, r.ID), f)
	}
	if len(differences) > differencesShown {
		differences, view.next = differences[:differencesShown],
			withObject(revisionLink(v, r.ID), f, fmt.Sprintf("from=%d", from+differencesShown))
	}
	for i, d := range differences {
		shown := differenceOf(d, withObject(revisionLink(v, r.ID)+"diff/", f, fmt.Sprintf("at=%d", from+i)),
			v.Business.Currency)
		if _, ok := menu.RestoreJob(v.Business.ID, d, nil, v.Now); ok && v.MayAct() {
			shown.restoreURL = restoreLink(v, r.ID, strconv.Itoa(from+i))
		}
		view.differences = append(view.differences, shown)
	}
	head := shell.Head{Title: kindLabels[r.Kind], Note: v.At(time.UnixMilli(r.At)).Exact(),
		Parent: ui.Link{Href: v.Link("history/"), Label: text.History}}
	if v.MayAct() {
		view.undoNote = text.UndoNote
		if head.Links, err = p.rollbackLinks(c.UserContext(), v, r); err != nil {
			return err
		}
	}
	return v.Show(c, head, revisionPage(view))
}

// rollbackLinks returns the links that roll back to the state after and before a revision.
func (p Pages) rollbackLinks(ctx context.Context, v *shell.PageContext, r menu.Revision) ([]ui.Link, error) {
	links := []ui.Link{{Href: revisionLink(v, r.ID) + "rollback/", Label: text.RollbackAfter}}
	earlier, err := p.Menus.Revisions(ctx, v.Business.ID, menu.RevisionFilter{After: r.ID, Limit: 1})
	for _, before := range earlier {
		links = append(links, ui.Link{Href: revisionLink(v, before.ID) + "rollback/", Label: text.RollbackBefore})
	}
	return links, err
}

func facts(v *shell.PageContext, r menu.Revision) []ui.Fact {
	list := []ui.Fact{{Label: text.At, Cell: ui.TimeCell(v.At(time.UnixMilli(r.At)))},
		{Label: text.Actor, Cell: ui.T(cause.ActorLabel(r.Actor))}, {Label: text.Subject, Cell: ui.T(subject(r))},
		{Label: text.Changed, Cell: ui.T(changeCounts(r.Changes))},
		{Label: text.ChangeRequest, Cell: requestCell(v, r)}}
	if r.RolledBackTo != nil {
		list = append(list, ui.Fact{Label: text.BackTo,
			Cell: ui.Cell{Text: v.At(core.TimeOf(*r.RolledBackTo)).Exact(), Href: revisionLink(v, *r.RolledBackTo)}})
	}
	return list
}

// priceFields are the names of the fields with an amount of money. Others are numbers without a currency.
var priceFields = []string{"price", "external_price", "markup_price", "min_order_value"}

func differenceOf(d menu.Difference, diffURL, currency string) differenceView {
	view := differenceView{ref: d.RefID, state: ui.Neutral}
	if view.ref == "" {
		view.ref = text.GoneObject
	}
	if d.Relation != "" {
		view.location += " · " + d.Relation
	}
	if d.Location != "" {
		view.location += " · " + fmt.Sprintf(text.AtStore, d.Location)
	}
	view.kindLabel = objectLabel(d.Entity) + view.location
	changes := fieldChanges(d.Before, d.After, currency)
	switch {
	case d.Before == nil:
		view.state, view.verb, view.record = ui.OK, text.CreatedNew, ui.Pretty(d.After, recordShown)
	case d.After == nil:
		view.state, view.verb, view.record = ui.Err, text.Gone, ui.Pretty(d.Before, recordShown)
	default:
		view.summary, view.fields, view.diffURL = summary(changes), fieldList(changes, text.Was, text.Is), diffURL
	}
	return view
}

// fieldChanges returns the differences between two records, with prices in the currency.
func fieldChanges(before, after []byte, currency string) []console.FieldChange {
	changes := console.FieldChanges(before, after)
	for i := range changes {
		change := &changes[i]
		change.Field = strings.TrimPrefix(change.Field, "record.")
		if name := change.Field[strings.LastIndex(change.Field, ".")+1:]; slices.Contains(priceFields, name) {
			change.Before, change.After = ui.Price(change.Before, currency), ui.Price(change.After, currency)
		}
	}
	return changes
}

// line describes the difference in short.
func (v differenceView) line() string { return cmp.Or(v.summary, v.verb) + v.location }

// summary joins the first changes.
func summary(changes []console.FieldChange) string {
	var parts []string
	for i, change := range changes {
		if i == summaryFields {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s → %s", change.Field, truncate(change.Before),
			truncate(change.After)))
	}
	return strings.Join(parts, ", ")
}

// truncate shortens a value to summaryWidth characters.
func truncate(value string) string {
	if value == "" {
		return "–"
	}
	if runes := []rune(value); len(runes) > summaryWidth {
		return string(runes[:summaryWidth]) + "…"
	}
	return value
}

// fieldList lists changed fields. before and after are the labels of their values.
func fieldList(changes []console.FieldChange, before, after string) ui.List {
	list := ui.List{Name: text.DifferencesTitle,
		Columns: []ui.Column{{Label: text.Field}, {Label: before, Kind: ui.Wide}, {Label: after, Kind: ui.Wide}}}
	for i, change := range changes {
		if i == fieldsShown {
			list.Add(ui.T(fmt.Sprintf(text.MoreFields, ui.Number(len(changes)-i))), ui.T(""), ui.T(""))
			break
		}
		list.Add(ui.CodeCell(change.Field), ui.T(change.Before), ui.T(change.After))
	}
	return list
}

// Diff compares one changed record before and after.
func (p Pages) Diff(c *fiber.Ctx, v *shell.PageContext) error {
	r, difference, err := p.findDifference(c, v)
	if err != nil {
		return err
	}
	d := differenceOf(difference, "", v.Business.Currency)
	head := shell.Head{Title: d.ref, Note: d.kindLabel,
		Parent: ui.Link{Href: withObject(revisionLink(v, r.ID), objectFilter(v)), Label: kindLabels[r.Kind]}}
	return v.Show(c, head, ui.DiffOf(ui.Compare(ui.Diff{Before: text.DiffWas, After: text.DiffIs}, difference.Before,
		difference.After)))
}
