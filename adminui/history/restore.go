package history

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/menu"
)

// restoration is one difference of a revision, and the job that restores the values before it.
type restoration struct {
	revision   menu.Revision
	difference menu.Difference
	present    jsontext.Value // the object now
	job        core.Job
}

// state identifies the present state of the object.
func (r restoration) state() string {
	sum := sha256.Sum256(r.present)
	return hex.EncodeToString(sum[:8])
}

// findRestoration reads the difference in the path and query.
func (p Pages) findRestoration(c *fiber.Ctx, v *shell.PageContext) (r restoration, err error) {
	if r.revision, r.difference, err = p.findDifference(c, v); err != nil {
		return r, err
	}
	if r.present, err = p.Menus.Present(c.UserContext(), v.Business.ID, r.difference); err != nil {
		return r, err
	}
	job, ok := menu.RestoreJob(v.Business.ID, r.difference, r.present, v.Now)
	if r.job = job; !ok {
		return r, core.Errorf(core.Conflict, text.RestoreNot)
	}
	return r, nil
}

// findDifference reads the difference in the path and query.
func (p Pages) findDifference(c *fiber.Ctx, v *shell.PageContext) (menu.Revision, menu.Difference, error) {
	var none menu.Difference
	r, err := p.find(c, v)
	if err != nil {
		return r, none, err
	}
	at, err := strconv.Atoi(v.Query.Get("at"))
	if err != nil || at < 0 {
		return r, none, core.Errorf(core.NotFound, text.NotFound)
	}
	found, err := p.Menus.DifferencesOf(c.UserContext(), v.Business.ID,
		menu.DifferenceQuery{Revisions: []core.ID{r.ID}, Filter: objectFilter(v), Offset: at, Limit: 1})
	if err != nil {
		return r, none, err
	}
	if len(found[r.ID]) == 0 {
		return r, none, core.Errorf(core.NotFound, text.NotFound)
	}
	return r, found[r.ID][0], nil
}

// PreviewRestore shows the request that would restore the values before a difference.
func (p Pages) PreviewRestore(c *fiber.Ctx, v *shell.PageContext) error {
	r, err := p.findRestoration(c, v)
	if err != nil {
		return err
	}
	return p.showRestore(c, v, r, "")
}

func (p Pages) showRestore(c *fiber.Ctx, v *shell.PageContext, r restoration, reason string) error {
	view := differenceOf(r.difference, "", v.Business.Currency)
	button := ui.Button{Label: text.RestoreDo, Token: v.Token(), ReasonLabel: text.Why, Help: text.RestoreSay,
		Reason: reason,
		Action: restoreLink(v, r.revision.ID, v.Query.Get("at")),
		Hidden: []ui.Option{{Label: "state", Value: r.state()}}}
	head := shell.Head{Title: fmt.Sprintf(text.RestoreTitle, view.ref),
		Note: view.kindLabel + " · " + whereOf(r.difference.Location),
		Parent: ui.Link{Href: withObject(revisionLink(v, r.revision.ID), objectFilter(v)),
			Label: kindLabels[r.revision.Kind]}}
	if len(console.FieldChanges(r.present, r.difference.After)) > 0 {
		head.Causes = []ui.Cause{{State: ui.Warn, Text: text.RestoreLater}}
	}
	return v.Show(c, head, restorePage(r.fields(v.Business.Currency), ui.Pretty(r.job.Body, recordShown), button))
}

// whereOf names the menu that a difference belongs to.
func whereOf(location string) string {
	if location == "" {
		return text.ThenAsStored
	}
	return fmt.Sprintf(text.AtStoreNamed, location)
}

// fields lists the values now and those restored, of the fields that the change had set.
func (r restoration) fields(currency string) ui.List {
	changed := map[string]bool{}
	for _, change := range fieldChanges(r.difference.Before, r.difference.After, currency) {
		changed[change.Field] = change.Before != ""
	}
	restored := slices.DeleteFunc(fieldChanges(r.present, r.difference.Before, currency),
		func(change console.FieldChange) bool { return !changed[change.Field] })
	return fieldList(restored, text.Now, text.Restored)
}

// QueueRestore queues the request, if the object has not changed since it was shown.
func (p Pages) QueueRestore(c *fiber.Ctx, v *shell.PageContext) error {
	r, err := p.findRestoration(c, v)
	if err != nil {
		return err
	}
	if shell.Field(c, "state") != r.state() {
		c.Status(http.StatusConflict)
		return p.showRestore(c, v, r, shell.Field(c, "why"))
	}
	change := v.Change(c, "menu.restore")
	change.After = map[string]any{"revision": r.revision.ID.String(), "entity": r.difference.Entity,
		"ref_id": r.difference.RefID, "location_ref_id": r.job.Subject}
	if err := p.Queue.QueueJob(c.UserContext(), r.job, change); err != nil {
		return err
	}
	return shell.RedirectDone(c, v.Link("jobs/"+r.job.ID.String()+"/"), "restore")
}

// restoreLink returns the path that restores the values before the difference at an offset.
func restoreLink(v *shell.PageContext, revision core.ID, at string) string {
	return withObject(revisionLink(v, revision)+"restore/", objectFilter(v), "at="+url.QueryEscape(at))
}
