package web

import (
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/presence"
	"github.com/servery-hub/servery/core/store"
)

// postStores queues a bulk request of stores.
func (s *Server) postStores(c *fiber.Ctx, caller core.Caller) error {
	body, err := s.bulkBody(c, store.CheckLimits)
	if err != nil {
		return err
	}
	request, err := store.Decode(body)
	if err != nil {
		return err
	}
	job, err := s.enqueue(c, caller, core.Job{Kind: core.StoreJob, Body: body,
		CallbackURL: request.CallbackURL})
	if err != nil {
		return err
	}
	return respondQueued(c, job, envelope{
		Message: pluralize(len(request.Stores), "store") + " queued; the result follows as a store_creation callback",
	})
}

// getStore returns one store.
func (s *Server) getStore(c *fiber.Ctx, caller core.Caller) error {
	stored, err := s.Stores.Get(c.UserContext(), caller.Business, pathParam(c, "ref_id"))
	if err != nil {
		return err
	}
	names, err := s.Platforms.Names(c.UserContext(), caller.Business)
	if err != nil {
		return err
	}
	s.recordHeartbeat(caller, presence.Heartbeat{StoreID: stored.ID})
	return respond(c, http.StatusOK, stored.WithEventNames(names))
}

// listStores returns a page of stores, sorted by ref_id.
func (s *Server) listStores(c *fiber.Ctx, caller core.Caller) error {
	var v core.Violations
	limit := intParam(c, "limit", intRange{50, 1, 1000}, &v)
	if err := v.Err(); err != nil {
		return err
	}
	page, err := s.Stores.Page(c.UserContext(), caller.Business, strings.Clone(c.Query("after")), limit)
	if err != nil {
		return err
	}
	names, err := s.Platforms.Names(c.UserContext(), caller.Business)
	if err != nil {
		return err
	}
	for i, one := range page.Stores {
		page.Stores[i] = one.WithEventNames(names)
	}
	return respond(c, http.StatusOK, struct {
		Stores []store.Stored `json:"stores"`
		Meta   pageMeta       `json:"meta"`
	}{page.Stores, pageMeta{limit, page.Next()}})
}

// pageMeta describes a page. Next is the parameter after for the next page.
type pageMeta struct {
	Limit int    `json:"limit"`
	Next  string `json:"next,omitzero"`
}

// pageOf returns the page of a list that was read with one object more than the limit, if there is one.
func pageOf[T any](list []T, limit int, cursor func(last T) string) ([]T, pageMeta) {
	meta := pageMeta{Limit: limit}
	if len(list) > limit {
		list = list[:limit]
		meta.Next = cursor(list[limit-1])
	}
	return list, meta
}

// afterParam parses the cursor of a page.
func afterParam[T any](c *fiber.Ctx, parse func(string) (T, error), v *core.Violations) (cursor T) {
	text := strings.Clone(c.Query("after"))
	if text == "" {
		return cursor
	}
	cursor, err := parse(text)
	if err != nil {
		v.AddBody("after", "value", "must be the next value of an earlier response")
	}
	return cursor
}
