package web

import (
	"cmp"
	"fmt"
	"mime"
	"net/url"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
)

// jsonBody returns the request's body. The media type must be JSON or not given.
func (s *Server) jsonBody(c *fiber.Ctx) ([]byte, error) {
	if given := c.Get(fiber.HeaderContentType); given != "" {
		media, parameters, err := mime.ParseMediaType(given)
		if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
			return nil, core.Errorf(core.UnsupportedMedia, "send the body as JSON, with the header Content-Type: application/json")
		}
		if charset := strings.ToLower(parameters["charset"]); charset != "" && charset != "utf-8" && charset != "utf8" {
			return nil, core.Errorf(core.UnsupportedMedia, "the charset of the Content-Type must be utf-8; %.40q was sent", charset)
		}
	}
	sent := received(c)
	return sent.bytes, sent.err
}

// bulkBody returns the request's body as jsonBody does. Of one that needs more memory
// than there is, excess may know that it holds too many objects: that says more.
func (s *Server) bulkBody(c *fiber.Ctx, excess func(body []byte) error) ([]byte, error) {
	body, err := s.jsonBody(c)
	if err != nil && len(body) > 0 {
		err = cmp.Or(excess(body), err)
	}
	return body, err
}

// param is a path parameter, percent-decoded.
func param(c *fiber.Ctx, name string) string {
	value, err := url.PathUnescape(c.Params(name))
	if err != nil {
		return ""
	}
	return strings.Clone(value)
}

// unlisted records that a parameter of the query string is none of what it may be.
func unlisted(c *fiber.Ctx, name, may string, v *core.Violations) {
	v.AddBody(name, "value", fmt.Sprintf("must be one of: %s; %.80q was sent", may, c.Query(name)))
}

// number is a whole number of the query string from least to most.
func number(c *fiber.Ctx, name string, or, least, most int, v *core.Violations) int {
	text := c.Query(name)
	if text == "" {
		return or
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		v.AddBody(strings.Clone(name), "range", "must be a whole number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most))
		return or
	}
	return n
}
