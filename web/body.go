package web

import (
	"bytes"
	"cmp"
	"fmt"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
)

// simpleTypes are the media types that web pages use for JSON to avoid a preflight request.
var simpleTypes = []string{"text/plain", "application/x-www-form-urlencoded"}

// jsonBody returns the request's body. The media type must be JSON or absent. A JSON object may also have one of the
// simple types.
func (s *Server) jsonBody(c *fiber.Ctx) ([]byte, error) {
	sent := readBody(c)
	if given := c.Get(fiber.HeaderContentType); given != "" {
		media, parameters, err := mime.ParseMediaType(given)
		object := bytes.HasPrefix(bytes.TrimLeft(sent.bytes, " \t\r\n"), []byte("{"))
		simple := slices.Contains(simpleTypes, media)
		if simple && len(sent.bytes) == 0 && sent.err != nil { // whether it is an object is unknown
			return nil, sent.err
		}
		if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") && !(simple && object) {
			return nil, core.Errorf(core.UnsupportedMedia,
				"send the body as JSON, with the header Content-Type: application/json")
		}
		if charset := strings.ToLower(parameters["charset"]); charset != "" && charset != "utf-8" && charset != "utf8" {
			return nil, core.Errorf(core.UnsupportedMedia,
				"the charset of the Content-Type must be utf-8, not %.40q", charset)
		}
	}
	return sent.bytes, sent.err
}

// bulkBody returns the request's body like jsonBody. If the body needs too much memory, excess may return a better
// error, such as too many objects.
func (s *Server) bulkBody(c *fiber.Ctx, excess func(body []byte) error) ([]byte, error) {
	body, err := s.jsonBody(c)
	if err != nil && len(body) > 0 {
		err = cmp.Or(excess(body), err)
	}
	return body, err
}

// pathParam returns a percent-decoded path parameter.
func pathParam(c *fiber.Ctx, name string) string {
	value, err := url.PathUnescape(c.Params(name))
	if err != nil {
		return ""
	}
	return strings.Clone(value)
}

// addUnlisted adds the violation that a query parameter is not one of the allowed values.
func addUnlisted[S ~string](c *fiber.Ctx, name string, allowed []S, v *core.Violations) {
	v.AddBody(name, "value", core.OneOf(allowed, S(c.Query(name))))
}

// intRange contains the bounds of an integer parameter, and its value if it is absent.
type intRange struct{ fallback, low, high int }

// intParam returns an integer parameter of the query string.
func intParam(c *fiber.Ctx, name string, r intRange, v *core.Violations) int {
	text := c.Query(name)
	if text == "" {
		return r.fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < r.low || n > r.high {
		v.AddBody(strings.Clone(name), "range",
			fmt.Sprintf("must be a whole number from %d to %d, not %s", r.low, r.high, core.Quote(text)))
		return r.fallback
	}
	return n
}
