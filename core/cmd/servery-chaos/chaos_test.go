// Package chaos injects random faults into an installation of real processes. From its own records, it checks that the
// hubs neither lost nor duplicated nor reordered accepted work, and that they leave nothing behind.
package chaos

import (
	"flag"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"testing"
	"time"
)

var (
	length = flag.Duration("for", defaultLength(), "for how long things go wrong")
	seed   = flag.Uint64("seed", 0, "which of the faults, in what order; 0 draws one")
	strict = flag.Bool("strict", false, "fail also when a figure is missed")
	keep   = flag.Bool("keep", false, "keep logs and data")
)

// skewedFrom is the minimum duration of a run with wrong clocks. These need a separate program, which takes long to
// build.
const skewedFrom = time.Minute

// defaultLength is long enough for half of the faults in CI, and short elsewhere. make chaos runs for longer.
func defaultLength() time.Duration {
	if os.Getenv("CI") != "" {
		return time.Minute
	}
	return 5 * time.Second
}

func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	if runtime.GOOS != "linux" {
		t.Skip("looks at processes as Linux shows them")
	}
	interrupted, ignore := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	defer ignore()
	if *seed == 0 {
		*seed = rand.Uint64N(1_000_000) + 1
	}
	t.Logf("seed %d, for %v", *seed, *length)
	s := newChaosRun(t)
	s.load = startLoad(t, "http://"+s.balancer.address, s.tenant)
	s.placeRejectedOrders()
	s.injectFaults(interrupted, rand.New(rand.NewPCG(*seed, 0)))
	s.load.stop()
	s.log("the work is over")
	s.drain()
	s.log("everything is done")
	s.checkRetries()
	s.checkArrivals()
	s.checkState()
	s.checkRelays()
	s.checkIdle()
	s.stop()
	s.checkLeftovers()
	s.checkLogs()
	s.report()
}
