package pluginhost

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"
)

// recover waits before the next start after a fault. After too many faults it waits until an operator starts the
// plugin or another version is installed. It reports whether the plugin is to run.
func (k *keeper) recover(ctx context.Context, installed string, fault error) (run bool) {
	clock := k.host.config.Clock
	count := k.note(fault, true)
	state, wait := Backoff, backoff(max(1, count), rand.Float64())
	if count >= mostFaults {
		state, wait = Quarantined, longBackoff
	}
	k.enter(state)
	for {
		due, giveUp := clock.At(clock.Now().Add(wait))
		select {
		case <-ctx.Done():
			giveUp()
			return false
		case w := <-k.wishes:
			giveUp()
			k.forgive()
			k.owed = w
			return w.run
		case <-due:
			if state == Backoff {
				return true
			}
			if now, err := readParcel(k.host.config.Dir, k.id); err == nil && now.text != installed {
				k.forgive()
				return true
			}
		}
	}
}

// note records a fault. It returns the number of recent faults that ended the plugin, without those caused by retries
// of one call.
func (k *keeper) note(fault error, ended bool) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.host.config.Clock.Now()
	k.faults = slices.Insert(k.faults, 0, Fault{now, shorten(fault.Error(), longestFault), ended})
	k.faults = k.faults[:min(len(k.faults), keptFaults)]
	var late hang
	if k.ends = recent(k.ends, now); ended && !(errors.As(fault, &late) && late.one) {
		k.ends = append(k.ends, now)
	}
	k.log.log.Warn("plugin fault", "fault", k.faults[0].Text, "ended", ended)
	return len(k.ends)
}

// forgive resets the fault count.
func (k *keeper) forgive() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.faults, k.ends = nil, nil
}

// recent returns the times within the window.
func recent(times []time.Time, now time.Time) []time.Time {
	return slices.DeleteFunc(times, func(at time.Time) bool { return now.Sub(at) >= faultWindow })
}
