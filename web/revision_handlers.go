package web

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// listRevisions returns a page of changes of menus and stores, newest first.
func (s *Server) listRevisions(c *fiber.Ctx, caller core.Caller) error {
	var v core.Violations
	filter := menu.RevisionFilter{
		Entity: strings.Clone(c.Query("entity")), RefID: strings.Clone(c.Query("ref_id")),
		Location: strings.Clone(c.Query("location_ref_id")),
		From:     timeParam(c, "from", &v), To: timeParam(c, "to", &v),
	}
	limit := intParam(c, "limit", intRange{50, 1, 200}, &v)
	filter.Limit = limit + 1
	if filter.Entity != "" && !slices.Contains(menu.RevisionEntities(), filter.Entity) {
		v.AddBody("entity", "value", core.OneOf(menu.RevisionEntities(), filter.Entity))
	}
	if filter.Entity == "" && filter.RefID != "" {
		v.AddBody("entity", "required", "is required with ref_id")
	}
	filter.After = afterParam(c, uuid.Parse, &v)
	if err := v.Err(); err != nil {
		return err
	}
	list, err := s.Menus.Revisions(c.UserContext(), caller.Business, filter)
	if err != nil {
		return err
	}
	list, meta := pageOf(list, limit, func(one menu.Revision) string { return one.ID.String() })
	return respond(c, http.StatusOK, struct {
		Revisions []menu.Revision `json:"revisions"`
		Meta      pageMeta        `json:"meta"`
	}{list, meta})
}

var errNoRevision = core.Errorf(core.NotFound,
	"there is no revision with this id, or it is past its retention")

// revisionID returns the id in the path.
func revisionID(c *fiber.Ctx) (core.ID, error) {
	id, err := uuid.Parse(c.Params("id"))
	if err != nil {
		return id, errNoRevision
	}
	return id, nil
}

// getRevision returns a revision with a page of its differences.
func (s *Server) getRevision(c *fiber.Ctx, caller core.Caller) error {
	id, err := revisionID(c)
	if err != nil {
		return err
	}
	var v core.Violations
	limit, offset := intParam(c, "limit", intRange{50, 1, 200}, &v), intParam(c, "offset", intRange{0, 0, 10_000_000},
		&v)
	if err := v.Err(); err != nil {
		return err
	}
	revision, err := s.Menus.Revision(c.UserContext(), caller.Business, id)
	if err != nil {
		return err
	}
	list, err := s.Menus.Differences(c.UserContext(), caller.Business, id, offset, limit)
	if err != nil {
		return err
	}
	return respond(c, http.StatusOK, struct {
		menu.Revision
		Differences []menu.Difference `json:"differences"`
	}{revision, list})
}

// postRollback queues a rollback of the menu to the state after a revision.
func (s *Server) postRollback(c *fiber.Ctx, caller core.Caller) error {
	id, err := revisionID(c)
	if err != nil {
		return err
	}
	if _, err := s.Menus.Revision(c.UserContext(), caller.Business, id); err != nil {
		return err
	}
	job := menu.RollbackJob(caller.Business, id, s.Clock.Now())
	return s.queue(c, caller, job,
		envelope{Message: "rollback queued; the result follows as an inventory_update callback"})
}

// getItemAsOf returns an item at a store, as it was on a platform at a time.
func (s *Server) getItemAsOf(c *fiber.Ctx, caller core.Caller) error {
	var v core.Violations
	at, platform := timeParam(c, "time", &v), strings.Clone(c.Query("platform"))
	if platform == "" {
		v.AddBody("platform", "required", "is required, as the name of a platform of the business")
	}
	if err := v.Err(); err != nil {
		return err
	}
	if now := s.Clock.Now(); at.IsZero() || at.After(now) {
		at = now.Truncate(time.Millisecond)
	}
	_, scope, err := s.Menus.ResolveLocation(c.UserContext(), caller.Business, pathParam(c, "location_ref_id"))
	if err != nil {
		return err
	}
	names, err := s.Platforms.Names(c.UserContext(), caller.Business)
	if err != nil {
		return err
	}
	item, err := s.Menus.ItemAsOf(c.UserContext(), caller.Business, menu.PastItem{Scope: scope,
		Platform: names.Resolve(platform), RefID: pathParam(c, "item_ref_id"), At: at})
	if err != nil {
		return err
	}
	item.Platform = platform // the name in the request, which may be an alias
	if item.Record != nil {
		item.Record.RenamePlatforms(names.EventName)
	}
	return respond(c, http.StatusOK, item)
}
