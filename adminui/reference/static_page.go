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

// staticPage is a page rendered once.
type staticPage struct {
	mediaType, etag string
	body, gzipped   []byte
	immutable       bool // path contains a hash of the content
}

func newStaticPage(media string, body []byte) (staticPage, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(body); err != nil {
		return staticPage{}, fmt.Errorf("compressing a page: %w", err)
	}
	if err := w.Close(); err != nil {
		return staticPage{}, fmt.Errorf("compressing a page: %w", err)
	}
	sum := sha256.Sum256(body)
	return staticPage{mediaType: media, etag: `W/"` + hex.EncodeToString(sum[:8]) + `"`, body: body,
		gzipped: packed.Bytes()}, nil
}

func (s staticPage) send(c *fiber.Ctx) error {
	ui.Secure(c)
	c.Set(fiber.HeaderContentType, s.mediaType)
	c.Set(fiber.HeaderETag, s.etag)
	c.Set(fiber.HeaderCacheControl, "no-cache")
	if s.immutable {
		c.Set(fiber.HeaderCacheControl, "public, max-age=31536000, immutable")
	}
	c.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
	if strings.Contains(c.Get(fiber.HeaderIfNoneMatch), s.etag) {
		return c.SendStatus(http.StatusNotModified)
	}
	if strings.Contains(c.Get(fiber.HeaderAcceptEncoding), "gzip") {
		c.Set(fiber.HeaderContentEncoding, "gzip")
		return c.Send(s.gzipped)
	}
	return c.Send(s.body)
}
