// Package retry holds the schedules of repeated attempts. A wait doubles with each failed attempt.
package retry

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Schedule is a number of attempts and the waits between them.
type Schedule struct {
	Attempts  int           // with the first
	FirstWait time.Duration // the wait after the first failed attempt
	MaxWait   time.Duration // of a wait; 0: no limit
}

// Default returns the schedule of deliveries, calls and publications. The documentation, the wait times in the
// database and the tests follow from it.
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

// Waits returns the waits between the attempts.
func (s Schedule) Waits() (list []time.Duration) {
	for failed := 1; failed < s.Attempts; failed++ {
		wait, _ := s.After(failed)
		list = append(list, wait)
	}
	return list
}

// Documented replaces {retry_attempts} and {retry_waits} in a text by those of the default schedule, such as "six" and
// "1, 2, 4, 8 and 16".
func Documented() *strings.Replacer {
	s := Default(1)
	attempts := strconv.Itoa(s.Attempts)
	if words := strings.Fields("one two three four five six seven eight nine ten"); s.Attempts <= len(words) {
		attempts = words[s.Attempts-1]
	}
	var waits strings.Builder
	for n, wait := range s.Waits() {
		switch n {
		case 0:
		case s.Attempts - 2:
			waits.WriteString(" and ")
		default:
			waits.WriteString(", ")
		}
		fmt.Fprint(&waits, int(wait))
	}
	return strings.NewReplacer("{retry_attempts}", attempts, "{retry_waits}", waits.String())
}
