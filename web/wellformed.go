package web

import (
	"bytes"
	"net/url"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
)

// rejectMalformed refuses what other programs would read otherwise than the hub:
// an address with what is no text, which the database would leave out (so that a
// name counted for another), and a request that tells its length or its host
// twice, which a proxy before the hub may end elsewhere (RFC 9112, 6.3).
func (s *Server) rejectMalformed(c *fiber.Ctx) error {
	if hasDuplicateFraming(c.Request().Header.RawHeaders()) {
		c.Set(fiber.HeaderConnection, "close")
		return core.Errorf(core.Invalid,
			"the request has more than one Content-Length, Transfer-Encoding or Host")
	}
	address := c.Request().URI()
	path := address.PathOriginal()
	if decoded, err := url.PathUnescape(string(path)); err == nil { // else no handler reads it
		path = []byte(decoded)
	}
	if !isText(path) {
		return core.Errorf(core.NotFound, "unknown path: it is not valid UTF-8")
	}
	query := true
	if len(address.QueryString()) > 0 {
		address.QueryArgs().VisitAll(func(name, value []byte) { query = query && isText(name) && isText(value) })
	}
	if !query {
		return core.Errorf(core.Invalid,
			"the query string must be valid UTF-8 without the NUL character")
	}
	return c.Next()
}

func isText(part []byte) bool { return utf8.Valid(part) && bytes.IndexByte(part, 0) < 0 }

// hasDuplicateFraming tells whether the headers, as they came, say twice where the body ends or whose it is.
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
