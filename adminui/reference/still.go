package reference

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/ui"
)

// still is something that is made once and served as it is.
type still struct {
	media, tag   string
	body, packed []byte
	immutable    bool // its path has a hash of its content
}

func newStill(media string, body []byte) (still, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(body); err != nil {
		return still{}, fmt.Errorf("compressing a page: %w", err)
	}
	if err := w.Close(); err != nil {
		return still{}, fmt.Errorf("compressing a page: %w", err)
	}
	sum := sha256.Sum256(body)
	return still{media: media, tag: `W/"` + hex.EncodeToString(sum[:8]) + `"`, body: body, packed: packed.Bytes()}, nil
}

func (s still) send(c *fiber.Ctx) error {
	ui.Secure(c)
	c.Set(fiber.HeaderContentType, s.media)
	c.Set(fiber.HeaderETag, s.tag)
	c.Set(fiber.HeaderCacheControl, "no-cache")
	if s.immutable {
		c.Set(fiber.HeaderCacheControl, "public, max-age=31536000, immutable")
	}
	c.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	if strings.Contains(c.Get(fiber.HeaderIfNoneMatch), s.tag) {
		return c.SendStatus(http.StatusNotModified)
	}
	if strings.Contains(c.Get(fiber.HeaderAcceptEncoding), "gzip") {
		c.Set(fiber.HeaderContentEncoding, "gzip")
		return c.Send(s.packed)
	}
	return c.Send(s.body)
}
