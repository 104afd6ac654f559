package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/relay"
)

// MenuServer responds to aggregators that fetch menus.
type MenuServer interface {
	// ServeMenu returns the response. The path is the part after the kind. It returns NotFound if the kind serves no
	// menu, or the platform does not list the store.
	ServeMenu(ctx context.Context, in relay.InboundRequest, path string) (relay.Reply, error)
}

// The bounds of a menu that is rendered for a request: the time, and the memory for its input and the response.
const (
	serveTimeout = 20 * time.Second
	servedMemory = 24 << 20
)

// getCallback responds to an aggregator that fetches the menu of a store. The tag of the response depends on its body.
func (s *Server) getCallback(c *fiber.Ctx, _ core.Caller) error {
	return s.handleCallback(c, func(sent relay.InboundCallback, request relay.InboundRequest) error {
		ctx, cancel := context.WithTimeout(c.UserContext(), serveTimeout)
		defer cancel()
		memory := s.Memory.NewReservation(limit.Large)
		defer memory.Release()
		if err := memory.GrowDecoded(ctx, memory.ClampDecoded(servedMemory)); err != nil {
			return err
		}
		reply, err := s.MenuServer.ServeMenu(ctx, request, sent.Store)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(reply.Body)
		tag := `"` + hex.EncodeToString(sum[:16]) + `"`
		if reply.Status == http.StatusOK && matches(c.Get(fiber.HeaderIfNoneMatch), tag) {
			c.Set(fiber.HeaderETag, tag)
			return c.SendStatus(http.StatusNotModified)
		}
		sendReply(c, reply, 0)
		c.Set(fiber.HeaderETag, tag)
		return nil
	})
}
