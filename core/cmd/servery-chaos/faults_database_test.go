package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// losePrimary kills the primary, promotes the standby and makes another.
func (s *chaosRun) losePrimary(lot *rand.Rand) {
	killed := s.cluster.failOver(lot.IntN(2) == 0)
	eventually(s.t, waitTimeout, func() error {
		if !s.load.acceptedAfter(killed) {
			return fmt.Errorf("nothing was accepted after the loss of the primary, %d failures", s.load.failures.Load())
		}
		return nil
	})
	s.failovers = append(s.failovers, time.Since(killed))
	s.cluster.addStandby()
}

// freezePrimary stops the primary, which then goes on as if no time had passed.
func (s *chaosRun) freezePrimary(lot *rand.Rand) {
	s.cluster.freezePrimary(randomDelay(lot, 2*time.Second, 7*time.Second))
}

// loseStandby kills the standby alone. Commits wait for it: what was sent meanwhile
// may be accepted only once it is back, for then the primary is lost at once.
func (s *chaosRun) loseStandby(lot *rand.Rand) {
	s.cluster.killStandby()
	alone := time.Now()
	<-randomDelay(lot, 2*time.Second, 12*time.Second)
	if s.load.acceptedAfter(alone) {
		s.t.Error("accepted without a copy: a request that was sent after the loss of the standby")
	}
	s.cluster.returnStandby()
	s.awaitProgress()
	s.losePrimary(lot)
}

// cutDatabase loses connections of hubs to the database, in whatever they are at.
func (s *chaosRun) cutDatabase(lot *rand.Rand) {
	w := s.cluster.proxy
	w.resets.Store(5 + lot.Int64N(20))
	defer w.resets.Store(0)
	for range 3 + lot.IntN(4) {
		w.closeSome()
		<-randomDelay(lot, 100*time.Millisecond, 900*time.Millisecond)
	}
}
