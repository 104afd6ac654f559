package web

import (
	"bytes"
	"net/url"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
)

// rejectMalformed rejects requests that other programs could parse differently. A URL must be text, because the
// database would drop other characters. The length and the host must be given once, because a proxy could find another
// end of the request (RFC 9112, 6.3).
func (s *Server) rejectMalformed(c *fiber.Ctx) error {
	if hasDuplicateFraming(c.Request().Header.RawHeaders()) {
		c.Set(fiber.HeaderConnection, "close")
		return core.Errorf(core.Invalid,
			"the request has more than one Content-Length, Transfer-Encoding or Host")
	}
	uri := c.Request().URI()
	path := uri.PathOriginal()
	if decoded, err := url.PathUnescape(string(path)); err == nil { // otherwise no route matches
		path = []byte(decoded)
	}
	if !isText(path) {
		return core.Errorf(core.NotFound, "unknown path: it is not valid UTF-8")
	}
	valid := true
	if len(uri.QueryString()) > 0 {
		uri.QueryArgs().VisitAll(func(name, value []byte) { valid = valid && isText(name) && isText(value) })
	}
	if !valid {
		return core.Errorf(core.Invalid,
			"the query string must be valid UTF-8 without the NUL character")
	}
	return c.Next()
}

func isText(part []byte) bool { return utf8.Valid(part) && bytes.IndexByte(part, 0) < 0 }

// hasDuplicateFraming reports whether the raw headers contain a second body length or host.
func hasDuplicateFraming(headers []byte) bool {
	lengths, hosts := 0, 0
	for line := range bytes.Lines(headers) {
		name, _, _ := bytes.Cut(line, []byte{':'})
		switch {
		case bytes.EqualFold(name, []byte("Host")):
			hosts++
		case bytes.EqualFold(name, []byte("Content-Length")), bytes.EqualFold(name, []byte("Transfer-Encoding")):
			lengths++
		}
	}
	return lengths > 1 || hosts > 1
}
