package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
)

// fault is a way to go wrong; strike does it and mends it.
type fault struct {
	name   string
	inject func(s *chaosRun, lot *rand.Rand)
}

func allFaults() []fault {
	list := []fault{
		{"hub killed", (*chaosRun).killHub},
		{"hub stopped for a while", (*chaosRun).freezeHub},
		{"rolling restart", (*chaosRun).restartAll},
		{"plugin killed", (*chaosRun).killPlugin},
		{"primary lost", (*chaosRun).losePrimary},
		{"primary stopped for a while", (*chaosRun).freezePrimary},
		{"standby lost, then the primary", (*chaosRun).loseStandby},
		{"connections to the database cut", (*chaosRun).cutDatabase},
		{"endpoints slow", (*chaosRun).slowDown},
		{"endpoints reset connections", (*chaosRun).loseConnections},
		{"endpoints lose and stall data", (*chaosRun).losePackets},
		{"aggregators fail", (*chaosRun).failAggregators},
		{"aggregators restarted", (*chaosRun).restartAggregators},
		{"log disk full", (*chaosRun).fillLogDisk},
	}
	if *length >= skewedFrom {
		list = append(list, fault{"clock wrong", (*chaosRun).setClock})
	}
	return list
}

// injectFaults lets faults strike one after the other, in a drawn order, each
// kind once before any comes again, and waits in between until work goes on.
func (s *chaosRun) injectFaults(interrupted context.Context, lot *rand.Rand) {
	s.t.Helper()
	var deck []fault
	for end := time.Now().Add(*length); time.Now().Before(end); {
		if len(deck) == 0 {
			deck = allFaults()
			lot.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		require.NoError(s.t, interrupted.Err(), "interrupted")
		began := time.Now()
		deck[0].inject(s, lot)
		s.awaitProgress()
		s.log("%s, %.1f s", deck[0].name, time.Since(began).Seconds())
		s.faults[deck[0].name]++
		deck = deck[1:]
	}
}

// awaitProgress waits until further requests are accepted and further deliveries arrive, and looks
// whether a hub ended by itself.
func (s *chaosRun) awaitProgress() {
	s.t.Helper()
	began, before := time.Now(), s.load.accepted.Load()
	eventually(s.t, waitTimeout, func() error {
		if more := s.load.accepted.Load() - before; more < 20 {
			return fmt.Errorf("only %d requests were accepted after a fault", more)
		}
		return nil
	})
	s.recovery = append(s.recovery, time.Since(began))
	arrived := s.pos.count()
	eventually(s.t, waitTimeout, func() error {
		if more := s.pos.count() - arrived; more < 20 {
			return fmt.Errorf("only %d deliveries arrived after a fault", more)
		}
		return nil
	})
	for _, h := range s.hubs {
		if !h.running() {
			s.t.Fatalf("%s ended by itself: %s\n%s", h.name, lastErrors(h.stderr), lastErrors(h.log))
		}
	}
}

func (s *chaosRun) randomHub(lot *rand.Rand) *hub { return s.hubs[lot.IntN(len(s.hubs))] }

// randomDelay draws a time. How long a fault lasts is the test's input.
func randomDelay(lot *rand.Rand, least, most time.Duration) <-chan time.Time {
	return time.After(least + time.Duration(lot.Int64N(int64(most-least))))
}

func (s *chaosRun) killHub(lot *rand.Rand) {
	h := s.randomHub(lot)
	h.kill()
	h.start()
	h.awaitReady()
}

// freezeHub stops a hub, now and then for longer than its leases.
func (s *chaosRun) freezeHub(lot *rand.Rand) {
	h := s.randomHub(lot)
	least, most := time.Second, 5*time.Second
	if lot.IntN(3) == 0 {
		least, most = 11*time.Second, 13*time.Second
	}
	_ = h.process.Process.Signal(syscall.SIGSTOP)
	<-randomDelay(lot, least, most)
	_ = h.process.Process.Signal(syscall.SIGCONT)
}

func (s *chaosRun) restartAll(*rand.Rand) {
	for _, h := range s.hubs {
		s.restart(h)
	}
}

func (s *chaosRun) restart(h *hub, settings ...string) {
	s.t.Helper()
	if err := h.terminate(); err != nil {
		s.t.Error(err)
	}
	h.start(settings...)
	h.awaitReady()
}

// killPlugin takes a plugin of a hub, each in its turn: one that ends too often is
// left alone by the hub, as it should be.
func (s *chaosRun) killPlugin(*rand.Rand) {
	h, id := s.hubs[s.plugin%3], []string{"aggregator-b", "aggregator-a", "aggregator-c"}[s.plugin/3%3]
	s.plugin++
	var pid int
	eventually(s.t, waitTimeout, func() error {
		if pid = h.plugins()[id]; pid == 0 {
			return fmt.Errorf("%s does not run %s: %v", h.name, id, h.plugins())
		}
		return nil
	})
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// fillLogDisk has a hub log to a disk that is full: /dev/full answers every write
// as such a disk does, also where nothing may be mounted.
func (s *chaosRun) fillLogDisk(lot *rand.Rand) {
	h := s.randomHub(lot)
	s.restart(h, "SERVERY_LOG_FILE=/dev/full", "SERVERY_LOG_LEVEL=debug")
	before := s.load.accepted.Load()
	eventually(s.t, waitTimeout, func() error {
		if s.load.accepted.Load() < before+50 {
			return fmt.Errorf("work does not go on with a full disk of logs")
		}
		return nil
	})
	s.restart(h)
}

// setClock gives a hub's machine another wrong clock.
func (s *chaosRun) setClock(lot *rand.Rand) {
	h := s.randomHub(lot)
	h.clock = (time.Duration(lot.IntN(1200)-600) * time.Second).String()
	s.restart(h)
}

// medianAndMax tells the middle and the most of some times.
func medianAndMax(times []time.Duration) (median, most time.Duration) {
	if len(times) == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2], sorted[len(sorted)-1]
}
