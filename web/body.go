package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"mime"
	"net/url"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
)

// jsonBody returns the request's body as body does. The media type must be JSON
// or not given.
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
	return s.body(c, s.MaxBody)
}

// body returns the request's body, unpacked where it came compressed, as a copy
// that may outlive the request. It may have so many bytes.
func (s *Server) body(c *fiber.Ctx, most int) ([]byte, error) {
	raw := c.Request().Body() // not c.Body, which unpacks without a bound
	if len(raw) > most {
		return nil, tooLarge(most)
	}
	switch strings.ToLower(c.Get(fiber.HeaderContentEncoding)) { // RFC 9110, 8.4.1
	case "", "identity":
		return bytes.Clone(raw), nil
	case "gzip":
		return gunzip(raw, most)
	default:
		return nil, core.Errorf(core.UnsupportedMedia, "the Content-Encoding must be gzip or none")
	}
}

func gunzip(raw []byte, most int) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, core.Errorf(core.Invalid, "the body is not valid gzip")
	}
	body, err := io.ReadAll(io.LimitReader(reader, int64(most)+1))
	if err != nil {
		return nil, core.Errorf(core.Invalid, "the body is not valid gzip")
	}
	if len(body) > most {
		return nil, tooLarge(most)
	}
	return body, nil
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
