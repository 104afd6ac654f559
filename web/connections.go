package web

import (
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/servery-hub/servery/core/inbound"
)

// maxBodyTime is effectively no limit for a body, because fasthttp cannot remove the deadline of the header. Package
// inbound limits bodies by their progress.
const maxBodyTime = 24 * time.Hour

// headerReceived replaces the deadline of the header.
func (s *Server) headerReceived(*fasthttp.RequestHeader) fasthttp.RequestConfig {
	return fasthttp.RequestConfig{ReadTimeout: maxBodyTime}
}

// connStateChanged records whether a connection has an active request.
func connStateChanged(conn net.Conn, state fasthttp.ConnState) {
	switch state {
	case fasthttp.StateActive:
		inbound.BeginRequest(conn)
	case fasthttp.StateIdle:
		inbound.EndRequest(conn)
	}
}
