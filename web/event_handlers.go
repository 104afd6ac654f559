package web

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook/catalogue"
)

// listEventTypes returns the catalogue of event types.
func (s *Server) listEventTypes(c *fiber.Ctx, _ core.Caller) error {
	return respondTagged(c, struct {
		EventTypes []catalogue.Entry `json:"event_types"`
	}{catalogue.All()})
}

// getEventType returns one entry of the catalogue, by name or number.
func (s *Server) getEventType(c *fiber.Ctx, _ core.Caller) error {
	event, _ := core.ParseEventType(pathParam(c, "event_type"))
	entry, known := catalogue.Lookup(event)
	if !known {
		return core.Errorf(core.NotFound, "there is no event type with this name or number")
	}
	return respondTagged(c, entry)
}

// respondTagged sends a value with an entity tag. It sends 304 if the client has the current value.
func respondTagged(c *fiber.Ctx, value any) error {
	body, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	c.Set(fiber.HeaderETag, tag)
	c.Set(fiber.HeaderCacheControl, "private, no-cache")
	if matches(c.Get(fiber.HeaderIfNoneMatch), tag) {
		return c.SendStatus(http.StatusNotModified)
	}
	return send(c, http.StatusOK, body)
}
