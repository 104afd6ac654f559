// Package retry holds the schedules of repeated attempts. A wait doubles with each failed attempt.
package retry

import "time"

// Schedule is a number of attempts and the waits between them.
type Schedule struct {
	Attempts  int           // with the first
	FirstWait time.Duration // the wait after the first failed attempt
	MaxWait   time.Duration // of a wait; 0: no limit
}

// Default returns the schedule of deliveries, calls and publications. It has six attempts, with waits of 1, 2, 4, 8
// and 16 units.
func Default(unit time.Duration) Schedule { return Schedule{Attempts: 6, FirstWait: unit} }

// After returns the wait after a number of failed attempts. It returns false if no attempt follows.
func (s Schedule) After(failed int) (wait time.Duration, more bool) {
	if failed < 1 || failed >= s.Attempts {
		return 0, false
	}
	wait = s.FirstWait
	for range failed - 1 {
		if wait *= 2; s.MaxWait > 0 && wait >= s.MaxWait {
			return s.MaxWait, true
		}
	}
	return wait, true
}
