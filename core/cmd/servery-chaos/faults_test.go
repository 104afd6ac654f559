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

// fault is a kind of failure. The function inject causes it and ends it.
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

// injectFaults injects faults one after the other, in random order, each kind once before it repeats one. It waits for
// progress after each.
func (s *chaosRun) injectFaults(interrupted context.Context, rng *rand.Rand) {
	s.t.Helper()
	var deck []fault
	for end := time.Now().Add(*length); time.Now().Before(end); {
		if len(deck) == 0 {
			deck = allFaults()
			rng.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
		}
		require.NoError(s.t, interrupted.Err(), "interrupted")
		start := time.Now()
		deck[0].inject(s, rng)
		s.awaitProgress()
		s.log("%s, %.1f s", deck[0].name, time.Since(start).Seconds())
		s.faults[deck[0].name]++
		deck = deck[1:]
	}
}

// awaitProgress waits until more requests are accepted and more deliveries arrive. It fails if a hub has exited.
func (s *chaosRun) awaitProgress() {
	s.t.Helper()
	start, before := time.Now(), s.load.accepted.Load()
	eventually(s.t, waitTimeout, func() error {
		if more := s.load.accepted.Load() - before; more < 20 {
			return fmt.Errorf("only %d requests were accepted after a fault", more)
		}
		return nil
	})
	s.recovery = append(s.recovery, time.Since(start))
	arrived := s.pos.count()
	eventually(s.t, waitTimeout, func() error {
		if more := s.pos.count() - arrived; more < 20 {
			return fmt.Errorf("only %d deliveries arrived after a fault", more)
		}
		return nil
	})
	for _, h := range s.hubs {
		require.True(s.t, h.Running(), "%s ended by itself", h.name)
	}
}

func (s *chaosRun) randomHub(rng *rand.Rand) *hub { return s.hubs[rng.IntN(len(s.hubs))] }

// randomDelay returns a timer with a random delay. The duration of a fault is an input of the test.
func randomDelay(rng *rand.Rand, low, high time.Duration) <-chan time.Time {
	return time.After(low + time.Duration(rng.Int64N(int64(high-low))))
}

func (s *chaosRun) killHub(rng *rand.Rand) {
	h := s.randomHub(rng)
	h.Kill()
	h.start()
}

// freezeHub stops a hub, sometimes for longer than its leases.
func (s *chaosRun) freezeHub(rng *rand.Rand) {
	h := s.randomHub(rng)
	low, high := time.Second, 5*time.Second
	if rng.IntN(3) == 0 {
		low, high = 11*time.Second, 13*time.Second
	}
	_ = h.Cmd.Process.Signal(syscall.SIGSTOP)
	<-randomDelay(rng, low, high)
	_ = h.Cmd.Process.Signal(syscall.SIGCONT)
}

func (s *chaosRun) restartAll(*rand.Rand) {
	for _, h := range s.hubs {
		s.restart(h)
	}
}

func (s *chaosRun) restart(h *hub, settings ...string) {
	s.t.Helper()
	h.terminate()
	h.start(settings...)
}

// killPlugin kills the plugins of a hub one after the other, because the hub quarantines a plugin that exits too often.
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

// fillLogDisk makes a hub log to /dev/full, which fails like a full disk.
func (s *chaosRun) fillLogDisk(rng *rand.Rand) {
	h := s.randomHub(rng)
	s.restart(h, "SERVERY_LOG_FILE", "/dev/full", "SERVERY_LOG_LEVEL", "debug")
	before := s.load.accepted.Load()
	eventually(s.t, waitTimeout, func() error {
		if s.load.accepted.Load() < before+50 {
			return fmt.Errorf("work does not go on with a full disk of logs")
		}
		return nil
	})
	s.restart(h)
}

// setClock changes the error of a hub's clock.
func (s *chaosRun) setClock(rng *rand.Rand) {
	h := s.randomHub(rng)
	h.clock = (time.Duration(rng.IntN(1200)-600) * time.Second).String()
	s.restart(h)
}

// medianAndMax returns the median and the maximum.
func medianAndMax(times []time.Duration) (median, high time.Duration) {
	if len(times) == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(times))
	return sorted[len(sorted)/2], sorted[len(sorted)-1]
}
