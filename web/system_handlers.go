package web

import (
	"net/http"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
)

// openAPI serves the OpenAPI document.
func (s *Server) openAPI(c *fiber.Ctx, _ core.Caller) error {
	c.Set(fiber.HeaderContentType, "application/json; charset=utf-8")
	c.Set(fiber.HeaderCacheControl, "public, max-age=300")
	return c.Send(OpenAPI())
}

type healthBody struct {
	Status string `json:"status"`
}

// health reports that the process is alive.
func (s *Server) health(c *fiber.Ctx, _ core.Caller) error {
	return respond(c, http.StatusOK, healthBody{"ok"})
}

// ready reports whether the server accepts requests: the database accepts writes, and the server is not shutting down.
func (s *Server) ready(c *fiber.Ctx, _ core.Caller) error {
	if err := s.Ready(c.UserContext()); err != nil {
		s.Log.Warn("not ready", "error", err)
		return core.Errorf(core.Unavailable, "the database does not respond or is read-only")
	}
	return respond(c, http.StatusOK, healthBody{"ready"})
}
