package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/publish"
)

// publicationBody is a publication in a response. Times are RFC 3339, in UTC.
type publicationBody struct {
	LocationRefID string            `json:"location_ref_id"`
	Platform      string            `json:"platform"`
	Status        publish.State     `json:"status"`
	Message       string            `json:"message,omitzero"`
	Errors        []publish.Problem `json:"errors"`
	Warnings      []publish.Problem `json:"warnings,omitempty"`
	Reference     string            `json:"reference,omitzero"`
	PublishedAt   time.Time         `json:"published_at,omitzero"`
	SettledAt     time.Time         `json:"settled_at,omitzero"`
	DueAt         time.Time         `json:"due_at,omitzero"`
	WaitsBecause  string            `json:"waits_because,omitzero"`
	Attempts      int               `json:"attempts"`

	Pending *pendingOutcome `json:"pending_outcome,omitempty"`
}

// pendingOutcome is a menu that the platform has accepted, and whose outcome it reports later.
type pendingOutcome struct {
	Reference string    `json:"reference"`
	Since     time.Time `json:"since"`
	Until     time.Time `json:"until"`
}

func publicationOf(p publish.Publication) publicationBody {
	body := publicationBody{
		LocationRefID: p.StoreRef, Platform: p.Platform, Status: p.State, Message: p.Message, Errors: p.Errors,
		Warnings:    p.Warnings,
		PublishedAt: p.PublishedAt.UTC(),
		SettledAt:   p.UpdatedAt.UTC(), DueAt: p.DueAt.UTC(), WaitsBecause: p.Note, Attempts: p.Attempts,
	}
	if !p.Deadline.IsZero() {
		body.Pending = &pendingOutcome{p.Task, p.Since.UTC(), p.Deadline.UTC()}
	}
	if p.Reference != (uuid.UUID{}) {
		body.Reference = p.Reference.String()
	}
	return body
}

// listPublications returns a page of publications of menus.
func (s *Server) listPublications(c *fiber.Ctx, caller core.Caller) error {
	var v core.Violations
	filter := publish.Filter{StoreRef: strings.Clone(c.Query("location_ref_id")),
		Platform: strings.Clone(c.Query("platform"))}
	filter.Limit = intParam(c, "limit", intRange{50, 1, 200}, &v)
	if status := strings.Clone(c.Query("status")); status != "" {
		state, known := publish.ParseState(status)
		if !known {
			addUnlisted(c, "status", []string{"waiting", "published", "failed", "unlisted", "skipped"}, &v)
		}
		filter.State = state
	}
	if after := strings.Clone(c.Query("after")); after != "" {
		cursor, ok := publish.ParseCursor(after)
		if !ok {
			v.AddBody("after", "value", "must be the next value of an earlier response")
		}
		filter.After = cursor
	}
	if err := v.Err(); err != nil {
		return err
	}
	names, err := s.Platforms.Names(c.UserContext(), caller.Business)
	if err != nil {
		return err
	}
	limit := filter.Limit
	filter.Limit++
	filter.Platform = names.Resolve(filter.Platform)
	list, err := s.Publications.List(c.UserContext(), caller.Business, filter)
	if err != nil {
		return err
	}
	list, meta := pageOf(list, limit, func(last publish.Publication) string {
		return publish.Cursor{StoreRef: last.StoreRef, Platform: last.Platform}.String()
	})
	bodies := make([]publicationBody, len(list))
	for i, one := range list {
		bodies[i] = publicationOf(one)
		bodies[i].Platform = names.EventName(one.Platform)
	}
	return respond(c, http.StatusOK, struct {
		Publications []publicationBody `json:"publications"`
		Meta         pageMeta          `json:"meta"`
	}{bodies, meta})
}
