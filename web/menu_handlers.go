package web

import (
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/presence"
)

// postMenu queues a menu request for the master catalogue or one store. With ?dry_run=true, the job only reports the
// changes.
func (s *Server) postMenu(c *fiber.Ctx, caller core.Caller) error {
	dryRun := c.Query("dry_run") == "true"
	body, err := s.bulkBody(c, menu.CheckLimits)
	if err != nil {
		return err
	}
	location := pathParam(c, "location_ref_id")
	business, scope, err := s.Menus.ResolveLocation(c.UserContext(), caller.Business, location)
	if err != nil {
		return err
	}
	request, err := menu.Decode(body, scope, s.IngestPolicy.RulesFor(business))
	if err != nil {
		return err
	}
	job, err := s.enqueue(c, caller, core.Job{Kind: core.MenuJob, Subject: location, Body: body,
		CallbackURL: request.CallbackURL, DryRun: dryRun})
	if err != nil {
		return err
	}
	s.recordHeartbeat(caller, presence.Heartbeat{StoreRef: location})
	message := pluralize(request.Objects(), "object") + " queued; the result follows as an inventory_update callback"
	if dryRun {
		message = "dry run of " + pluralize(request.Objects(), "object") +
			" queued; nothing will change, and the job reports what would"
	}
	return respondQueued(c, job, envelope{Message: message})
}

// boolParam returns a query parameter that is true, false or absent.
func boolParam(c *fiber.Ctx, name string, v *core.Violations) bool {
	switch c.Query(name) {
	case "", "false":
		return false
	case "true":
		return true
	}
	addUnlisted(c, name, []string{"true", "false"}, v)
	return false
}

// getMenu returns the menu of a location, or a page of it.
func (s *Server) getMenu(c *fiber.Ctx, caller core.Caller) error {
	view, err := menu.ParseView(strings.Clone(c.Query("only")), strings.Clone(c.Query("limit")),
		strings.Clone(c.Query("after")))
	if err != nil {
		return err
	}
	_, scope, err := s.Menus.ResolveLocation(c.UserContext(), caller.Business, pathParam(c, "location_ref_id"))
	if err != nil {
		return err
	}
	names, err := s.Platforms.Names(c.UserContext(), caller.Business)
	if err != nil {
		return err
	}
	return s.Menus.UseMenu(c.UserContext(), caller.Business, scope.StoreID, func(stored menu.Menu) error {
		s.recordHeartbeat(caller, presence.Heartbeat{StoreRef: scope.LocationRefID})
		return respond(c, http.StatusOK, menu.ReadBack(scope, stored, view).WithEventNames(names))
	})
}

// getEffectiveMenu returns the menu that customers of a platform see at a store. If the client's entity tag is current,
// it sends 304 without reading the menu (RFC 9110, section 13.1.2).
func (s *Server) getEffectiveMenu(c *fiber.Ctx, caller core.Caller) error {
	platform := strings.Clone(c.Query("platform"))
	if platform == "" {
		var v core.Violations
		v.AddBody("platform", "required", "is required, as the name of a platform of the business")
		return v.Err()
	}
	storeRef := pathParam(c, "ref_id")
	versions, err := s.Menus.Versions(c.UserContext(), caller.Business, storeRef, platform)
	if err != nil {
		return err
	}
	timings, err := s.Menus.Timings(c.UserContext(), caller.Business)
	if err != nil {
		return err
	}
	versions.Timings = timings.OpenState()
	tag := versions.ETag()
	c.Set(fiber.HeaderETag, tag)
	c.Set(fiber.HeaderCacheControl, "private, no-cache")
	if matches(c.Get(fiber.HeaderIfNoneMatch), tag) {
		return c.SendStatus(http.StatusNotModified)
	}
	return s.Menus.UseMenu(c.UserContext(), caller.Business, versions.StoreID, func(stored menu.Menu) error {
		stored.Timings = timings
		effective := menu.Effective(storeRef, stored, versions.Platform, stored.Blocked[versions.Platform.Name])
		effective.Platform, effective.OrderingEnabled = platform, &versions.Open
		body, err := effective.Encode()
		if err != nil {
			return err
		}
		return send(c, http.StatusOK, body)
	})
}

// matches reports whether an If-None-Match header contains the tag, strong or weak, or *.
func matches(header, tag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/")
		if candidate == tag || candidate == "*" {
			return true
		}
	}
	return false
}
