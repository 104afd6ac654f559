package web

import (
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/servery-hub/servery/core/inbound"
)

// maxBodyTime is how long the body of a request may take. What bounds it is the progress
// that its connection must make (package inbound): fasthttp can replace the deadline of
// the header, not lift it.
const maxBodyTime = 24 * time.Hour

// headerReceived ends the deadline of the header.
func (s *Server) headerReceived(*fasthttp.RequestHeader) fasthttp.RequestConfig {
	return fasthttp.RequestConfig{ReadTimeout: maxBodyTime}
}

// connStateChanged has a connection know whether a request is under way on it.
func connStateChanged(conn net.Conn, state fasthttp.ConnState) {
	switch state {
	case fasthttp.StateActive:
		inbound.BeginRequest(conn)
	case fasthttp.StateIdle:
		inbound.EndRequest(conn)
	}
}
