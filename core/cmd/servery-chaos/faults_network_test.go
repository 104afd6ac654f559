package chaos

import (
	"math/rand/v2"
	"time"
)

func (s *stage) slowDown(lot *rand.Rand) {
	for _, e := range []*endpoint{s.pos, s.second} {
		e.wire.delay.Store(int64(50*time.Millisecond) + lot.Int64N(int64(400*time.Millisecond)))
	}
	<-between(lot, 2*time.Second, 4*time.Second)
	s.pos.wire.delay.Store(0)
	s.second.wire.delay.Store(0)
}

func (s *stage) loseConnections(lot *rand.Rand) {
	for _, e := range []*endpoint{s.pos, s.second, s.picky} {
		e.wire.loss.Store(100 + lot.Int64N(400))
		defer e.wire.loss.Store(0)
	}
	<-between(lot, 2*time.Second, 5*time.Second)
}

// losePackets breaks requests and answers off in their middle, and has others
// arrive after the hub has given up.
func (s *stage) losePackets(lot *rand.Rand) {
	for _, e := range []*endpoint{s.pos, s.second, s.picky} {
		e.wire.tears.Store(50 + lot.Int64N(150))
		e.wire.stalls.Store(50 + lot.Int64N(150))
		defer e.wire.tears.Store(0)
		defer e.wire.stalls.Store(0)
	}
	<-between(lot, 3*time.Second, 6*time.Second)
}

func (s *stage) failAggregators(lot *rand.Rand) {
	for _, one := range []map[string]any{
		{"kind": "fail", "status": 503, "probability": 0.4}, {"kind": "reset", "probability": 0.3},
		{"kind": "delay", "delay_ms": 700, "probability": 0.5},
	} {
		one["seed"] = lot.Uint64N(1 << 32)
		eventually(s.t, patience, func() error { return s.aggregators.ask("POST", "faults", one) })
	}
	<-between(lot, 3*time.Second, 5*time.Second)
	eventually(s.t, patience, func() error { return s.aggregators.ask("DELETE", "faults", nil) })
}

// restartAggregators kills the simulator; another takes its place a little later.
func (s *stage) restartAggregators(lot *rand.Rand) {
	s.aggregators.kill()
	<-between(lot, 500*time.Millisecond, 3*time.Second)
	s.aggregators.start(s.t)
}
