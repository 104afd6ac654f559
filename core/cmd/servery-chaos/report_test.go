package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"
)

// The limits of the reported times.
const (
	failoverWithin = 10 * time.Second
	readyWithin    = time.Second
	minMeasured    = 5 * time.Minute // the duration of a run in which every kind of fault must occur
)

// report prints the faults, the times and the result.
func (s *chaosRun) report() {
	var text strings.Builder
	fmt.Fprintf(&text, "seed %d, %.0f s\n\n  faults\n", *seed, time.Since(s.began).Seconds())
	for _, f := range allFaults() {
		fmt.Fprintf(&text, "  %4d  %s\n", s.faults[f.name], f.name)
		if s.faults[f.name] == 0 && *length >= minMeasured {
			s.t.Errorf("%s: never played", f.name)
		}
	}
	fmt.Fprintf(&text,
		"\n  accepted: %d requests, of them %d orders and %d with a callback; %d were not answered or asked again\n",
		s.load.accepted.Load(),
		len(s.load.orders), len(s.load.references), s.load.failures.Load())
	fmt.Fprintf(&text, "  arrived: %d deliveries, %d relays of riders\n\n",
		len(s.pos.allArrivals())+len(s.second.allArrivals())+len(s.rejecting.allArrivals()), len(s.aggregators.relayed))
	var starts []time.Duration
	for _, h := range s.hubs {
		starts = append(starts, h.starts...)
	}
	s.addTimes(&text, "loss of the primary to the first accepted request", s.failovers, failoverWithin)
	s.addTimes(&text, "start of a hub to ready", starts, readyWithin)
	s.addTimes(&text, "end of a fault to the 20th accepted request", s.recovery, waitTimeout)
	outcome := "nothing lost, doubled, disordered or left over"
	if s.t.Failed() {
		outcome = "VIOLATED, see above"
	}
	s.t.Logf("%s\n  outcome: %s", text.String(), outcome)
}

// expectedErrors matches the errors that hubs log while the database or its standby is unavailable.
var expectedErrors = regexp.MustCompile(
	`^(request failed|claiming work failed|recording .* failed|requeueing a job failed|` +
		`timed availability changes failed|console page failed without database)$`)

// checkLogs counts the errors in the logs of the hubs. Unexpected ones fail the test.
func (s *chaosRun) checkLogs() {
	counts := map[string]int{}
	for _, h := range s.hubs {
		text, _ := os.ReadFile(h.log)
		for line := range bytes.Lines(text) {
			var logged struct{ Level, Msg, Error string }
			// a killed hub may leave an incomplete line
			if json.Unmarshal(line, &logged) != nil || logged.Level != "ERROR" {
				continue
			}
			counts[logged.Msg]++
			if !expectedErrors.MatchString(logged.Msg) || strings.Contains(logged.Error, "panic") {
				s.t.Errorf("%s logged: %s", h.name, line)
			}
		}
	}
	for msg, n := range counts {
		s.log("%d errors logged: %s", n, msg)
	}
}

// addTimes reports times. It checks the median, because the machine may be busy.
func (s *chaosRun) addTimes(text *strings.Builder, name string, times []time.Duration, within time.Duration) {
	if len(times) == 0 {
		return
	}
	median, high := medianAndMax(times)
	outcome := "met"
	if median >= within {
		outcome = "MISSED"
		if *strict {
			s.t.Errorf("%s took %v, not less than %v", name, median, within)
		}
	}
	fmt.Fprintf(text, "  %-50s median %6.2f s, at most %6.2f s of %d; under %v: %s\n", name, median.Seconds(),
		high.Seconds(), len(times), within, outcome)
}
