package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// losePrimary kills the primary, promotes the standby and adds another one.
func (s *chaosRun) losePrimary(rng *rand.Rand) {
	killed := s.cluster.failOver(rng.IntN(2) == 0)
	eventually(s.t, waitTimeout, func() error {
		if !s.load.acceptedAfter(killed) {
			return fmt.Errorf("nothing was accepted after the loss of the primary, %d failures", s.load.failures.Load())
		}
		return nil
	})
	s.failovers = append(s.failovers, time.Since(killed))
	s.cluster.addStandby()
}

// freezePrimary stops the processes of the primary for a while.
func (s *chaosRun) freezePrimary(rng *rand.Rand) {
	s.cluster.freezePrimary(randomDelay(rng, 2*time.Second, 7*time.Second))
}

// loseStandby kills only the standby, so commits wait. No request may be accepted until it is back, because the primary
// is lost right after that.
func (s *chaosRun) loseStandby(rng *rand.Rand) {
	s.cluster.killStandby()
	alone := time.Now()
	<-randomDelay(rng, 2*time.Second, 12*time.Second)
	if s.load.acceptedAfter(alone) {
		s.t.Error("accepted without a copy: a request that was sent after the loss of the standby")
	}
	s.cluster.returnStandby()
	s.awaitProgress()
	s.losePrimary(rng)
}

// cutDatabase closes connections between hubs and the database.
func (s *chaosRun) cutDatabase(rng *rand.Rand) {
	w := s.cluster.proxy
	w.resets.Store(5 + rng.Int64N(20))
	defer w.resets.Store(0)
	for range 3 + rng.IntN(4) {
		w.closeSome()
		<-randomDelay(rng, 100*time.Millisecond, 900*time.Millisecond)
	}
}
