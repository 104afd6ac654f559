package web

import (
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/presence"
)

// Presence records heartbeats of the merchant's systems.
type Presence interface {
	Record(sign presence.Heartbeat, at time.Time)
}

// recordHeartbeat records a successful request of the POS as a heartbeat of its store.
func (s *Server) recordHeartbeat(caller core.Caller, sign presence.Heartbeat) {
	if caller.Scope == core.ScopePOS {
		sign.Business = caller.Business
		s.Presence.Record(sign, s.Clock.Now())
	}
}
