package chaos

import (
	"math/rand/v2"
	"time"
)

func (s *chaosRun) slowDown(rng *rand.Rand) {
	for _, e := range []*endpoint{s.pos, s.second} {
		e.proxy.delay.Store(int64(50*time.Millisecond) + rng.Int64N(int64(400*time.Millisecond)))
	}
	<-randomDelay(rng, 2*time.Second, 4*time.Second)
	s.pos.proxy.delay.Store(0)
	s.second.proxy.delay.Store(0)
}

func (s *chaosRun) loseConnections(rng *rand.Rand) {
	for _, e := range []*endpoint{s.pos, s.second, s.rejecting} {
		e.proxy.resets.Store(100 + rng.Int64N(400))
		defer e.proxy.resets.Store(0)
	}
	<-randomDelay(rng, 2*time.Second, 5*time.Second)
}

// losePackets truncates requests and responses, and delays others beyond the timeouts of the hub.
func (s *chaosRun) losePackets(rng *rand.Rand) {
	for _, e := range []*endpoint{s.pos, s.second, s.rejecting} {
		e.proxy.truncations.Store(50 + rng.Int64N(150))
		e.proxy.stalls.Store(50 + rng.Int64N(150))
		defer e.proxy.truncations.Store(0)
		defer e.proxy.stalls.Store(0)
	}
	<-randomDelay(rng, 3*time.Second, 6*time.Second)
}

func (s *chaosRun) failAggregators(rng *rand.Rand) {
	for _, one := range []map[string]any{
		{"kind": "fail", "status": 503, "probability": 0.4}, {"kind": "reset", "probability": 0.3},
		{"kind": "delay", "delay_ms": 700, "probability": 0.5},
	} {
		one["seed"] = rng.Uint64N(1 << 32)
		eventually(s.t, waitTimeout, func() error { return s.aggregators.callAdmin("POST", "faults", one) })
	}
	<-randomDelay(rng, 3*time.Second, 5*time.Second)
	eventually(s.t, waitTimeout, func() error { return s.aggregators.callAdmin("DELETE", "faults", nil) })
}

// restartAggregators kills the simulator and starts another one after a while.
func (s *chaosRun) restartAggregators(rng *rand.Rand) {
	s.aggregators.Kill()
	<-randomDelay(rng, 500*time.Millisecond, 3*time.Second)
	s.aggregators.start(s.t)
}
