package web

import (
	"bytes"
	"context"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/servery-hub/servery/core/order"
)

// OpenBody is how many bytes of a request body are read of anyone. A body is in
// memory before its handler is asked, so more is read only of who shows a key.
const OpenBody = 64 << 10

// boundBody says, once the headers are there, how many bytes of the body are read. A
// small one is read without a look: nothing is added to what most requests cost.
func (s *Server) boundBody(header *fasthttp.RequestHeader) (bounds fasthttp.RequestConfig) {
	if n := header.ContentLength(); n == -1 || n > OpenBody { // -1: chunked
		bounds.MaxRequestBodySize, _ = s.readable(header)
	}
	return bounds
}

// readable is how many bytes of its body are read of a request, and why no more are.
func (s *Server) readable(header *fasthttp.RequestHeader) (most int, more error) {
	path, _, _ := bytes.Cut(header.RequestURI(), []byte{'?'})
	for below, most := range s.OpenBodies {
		if bytes.HasPrefix(path, []byte(below)) {
			return most, tooLarge(most)
		}
	}
	if s.SystemOnly {
		return OpenBody, tooLarge(OpenBody)
	}
	if bytes.HasPrefix(path, []byte("/channel/")) && bytes.Contains(path, []byte("/callback/")) { // the body may be what shows who calls
		most = min(s.MaxBody, order.MaxBody)
		return most, tooLarge(most)
	}
	ctx, cancel := context.WithTimeout(context.Background(), handlerDeadline)
	defer cancel()
	if _, err := s.Authenticator.Authenticate(ctx, string(header.Peek(fiber.HeaderAuthorization))); err != nil {
		return min(s.MaxBody, OpenBody), err
	}
	return s.MaxBody, tooLarge(s.MaxBody)
}
