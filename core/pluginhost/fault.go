package pluginhost

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"
)

// awaitRestart waits before the next start after a fault. After too many faults it waits until an operator starts the
// plugin or another version is installed. It reports whether the plugin is to run.
func (k *supervisor) awaitRestart(ctx context.Context, installed string, fault error) (run bool) {
	clock := k.host.config.Clock
	count := k.recordFault(fault, true)
	state, wait := Backoff, backoff(max(1, count), rand.Float64())
	if count >= maxFaults {
		state, wait = Quarantined, maxBackoff
	}
	k.setState(state)
	for {
		due, stopTimer := clock.At(clock.Now().Add(wait))
		select {
		case <-ctx.Done():
			stopTimer()
			return false
		case w := <-k.requests:
			stopTimer()
			k.resetFaults()
			k.pending = w
			return w.run
		case <-due:
			if state == Backoff {
				return true
			}
			if now, err := readInstalled(k.host.config.Dir, k.id); err == nil && now.manifestDigest != installed {
				k.resetFaults()
				return true
			}
		}
	}
}

// recordFault records a fault. It returns the number of recent faults that ended the plugin, without those caused by
// retries of one call.
func (k *supervisor) recordFault(fault error, ended bool) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.host.config.Clock.Now()
	k.faults = slices.Insert(k.faults, 0, Fault{now, truncate(fault.Error(), maxFaultText), ended})
	k.faults = k.faults[:min(len(k.faults), maxRecordedFaults)]
	var late hungError
	if k.recentCrashes = withinWindow(k.recentCrashes, now); ended && !(errors.As(fault, &late) && late.sameCall) {
		k.recentCrashes = append(k.recentCrashes, now)
	}
	k.log.log.Warn("plugin fault", "fault", k.faults[0].Text, "ended", ended)
	return len(k.recentCrashes)
}

// resetFaults resets the fault count.
func (k *supervisor) resetFaults() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.faults, k.recentCrashes = nil, nil
}

// withinWindow returns the times within the window.
func withinWindow(times []time.Time, now time.Time) []time.Time {
	return slices.DeleteFunc(times, func(at time.Time) bool { return now.Sub(at) >= faultWindow })
}
