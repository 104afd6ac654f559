package web

import (
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/presence"
)

// Presence hears of the merchant's systems.
type Presence interface {
	Record(sign presence.Heartbeat, at time.Time)
}

// recordHeartbeat takes a call that succeeded for a sign of life of the store that it names.
func (s *Server) recordHeartbeat(caller core.Caller, sign presence.Heartbeat) {
	if caller.Scope == core.ScopePOS {
		sign.Business = caller.Business
		s.Presence.Record(sign, s.Clock.Now())
	}
}
