// Package chaos injects random faults into an installation of real processes. From its own records, it checks that the
// hubs neither lost nor duplicated nor reordered accepted work, and that they leave nothing behind.
package chaos

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
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
	return 15 * time.Second
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

// makeRunDir creates the directory of a run, which PostgreSQL's user can enter.
func makeRunDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "c") // short, because it is part of socket paths
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	dir, err = filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	t.Cleanup(func() {
		if *keep {
			t.Logf("kept: %s", dir)
			return
		}
		if err := hubtest.Await(10*time.Second, func() error {
			if left := hubtest.ProcessesIn(dir); len(left) > 0 {
				return fmt.Errorf("left over at the very end: processes %v", left)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}
