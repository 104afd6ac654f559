package simulator

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The kinds of fault.
const (
	FaultFail      = "fail"      // respond with a status, by default 503
	FaultDelay     = "delay"     // wait before responding as usual
	FaultHang      = "hang"      // never respond
	FaultReset     = "reset"     // reset the connection
	FaultRefuse    = "refuse"    // reject, in the aggregator's format
	FaultDuplicate = "duplicate" // send a message to the hub twice
)

var faultKinds = []string{FaultFail, FaultDelay, FaultHang, FaultReset, FaultRefuse, FaultDuplicate}

// Fault is an injected fault. Empty Space, Platform and Call match everything. Platform can also be a plugin, such as
// aggregator-a.
type Fault struct {
	ID          int     `json:"id"`
	Space       string  `json:"space,omitempty"`
	Platform    string  `json:"platform,omitempty"`
	Call        Call    `json:"call,omitempty"`
	Kind        string  `json:"kind"`
	Status      int     `json:"status,omitempty"`      // for FaultFail: 400 to 599
	DelayMS     int64   `json:"delay_ms,omitempty"`    // for FaultDelay: up to 10 minutes
	Probability float64 `json:"probability,omitempty"` // 0 to 1; 0 means 1
	Seed        uint64  `json:"seed,omitempty"`        // of the random draws
	Times       int     `json:"times,omitempty"`       // 0: until it is removed
	LastsMS     int64   `json:"lasts_ms,omitempty"`    // duration, up to a day; 0: unlimited
	Hits        int     `json:"hits"`

	Until time.Time `json:"until,omitzero"` // set from LastsMS when it is added
}

// ParseFault parses a fault in the form of a flag: KIND or KIND:NAME=VALUE,…, such as
// fail:platform=aggregator-a,call=menu,status=500,times=2.
func ParseFault(text string) (Fault, error) {
	kind, rest, _ := strings.Cut(text, ":")
	f := Fault{Kind: kind}
	for _, pair := range strings.FieldsFunc(rest, func(r rune) bool { return r == ',' }) {
		name, value, _ := strings.Cut(pair, "=")
		var err error
		switch name {
		case "space":
			f.Space = value
		case "platform":
			f.Platform = value
		case "call":
			f.Call = Call(value)
		case "status":
			f.Status, err = strconv.Atoi(value)
		case "times":
			f.Times, err = strconv.Atoi(value)
		case "seed":
			f.Seed, err = strconv.ParseUint(value, 10, 64)
		case "probability":
			f.Probability, err = strconv.ParseFloat(value, 64)
		case "delay":
			f.DelayMS, err = parseMS(value)
		case "for":
			f.LastsMS, err = parseMS(value)
		default:
			err = fmt.Errorf("must be one of space, platform, call, status, delay, probability, seed, times, for")
		}
		if err != nil {
			return f, fmt.Errorf("fault %q: %s: %w", text, name, err)
		}
	}
	return f, f.Check()
}

func parseMS(value string) (int64, error) {
	d, err := time.ParseDuration(value)
	return d.Milliseconds(), err
}

// Check returns an error for an invalid fault.
func (f Fault) Check() error {
	calls := callsIn
	if f.Kind == FaultDuplicate {
		calls = callsOut
	}
	switch {
	case !slices.Contains(faultKinds, f.Kind):
		return fmt.Errorf("fault: kind %q must be one of: %s", f.Kind, strings.Join(faultKinds, ", "))
	case f.Call != "" && !slices.Contains(calls, f.Call):
		return fmt.Errorf("fault %s: call %q must be one of: %v", f.Kind, f.Call, calls)
	case f.Kind == FaultFail && f.Status != 0 && (f.Status < 400 || f.Status > 599):
		return fmt.Errorf("fault fail: status must be from 400 to 599")
	case f.Kind == FaultDelay && (f.DelayMS <= 0 || f.DelayMS > 600_000):
		return fmt.Errorf("fault delay: delay_ms must be from 1 to 600000")
	case !(f.Probability >= 0 && f.Probability <= 1):
		return fmt.Errorf("fault %s: probability must be from 0 to 1", f.Kind)
	case f.Times < 0:
		return fmt.Errorf("fault %s: times must not be negative", f.Kind)
	case f.LastsMS < 0 || f.LastsMS > maxLastsMS:
		return fmt.Errorf("fault %s: lasts_ms must be from 0 to %d, a day", f.Kind, maxLastsMS)
	}
	return nil
}

// Limits of faults: how many are active, in total and per space, and how long a temporary one lasts.
const (
	maxActiveFaults  = 100
	maxFaultsOfSpace = 20
	maxLastsMS       = 24 * 3600 * 1000
)

// faultSet has the active faults.
type faultSet struct {
	now  func() time.Time
	mu   sync.Mutex
	last int
	list []*activeFault
}

type activeFault struct {
	Fault
	random *rand.Rand
}

func (s *faultSet) add(f Fault) (Fault, error) {
	if err := f.Check(); err != nil {
		return f, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	ofSpace := 0
	for _, other := range s.list {
		if other.Space == f.Space {
			ofSpace++
		}
	}
	if len(s.list) == maxActiveFaults || f.Space != "" && ofSpace == maxFaultsOfSpace {
		return f, fmt.Errorf("fault: %d are already on, %d of them in this space: remove some first", len(s.list),
			ofSpace)
	}
	if f.Kind == FaultFail && f.Status == 0 {
		f.Status = http.StatusServiceUnavailable
	}
	s.last++
	f.ID, f.Hits, f.Until = s.last, 0, time.Time{}
	if f.LastsMS > 0 {
		f.Until = s.now().Add(time.Duration(f.LastsMS) * time.Millisecond)
	}
	s.list = append(s.list, &activeFault{f, rand.New(rand.NewPCG(f.Seed, 0))})
	return f, nil
}

// expire removes expired faults. The caller holds mu.
func (s *faultSet) expire() {
	now := s.now()
	s.list = slices.DeleteFunc(s.list, func(f *activeFault) bool { return !f.Until.IsZero() && !now.Before(f.Until) })
}

// active returns the active faults that can affect a space. "" returns all.
func (s *faultSet) active(space string) []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	list := []Fault{}
	for _, f := range s.list {
		if space == "" || f.Space == "" || f.Space == space {
			list = append(list, f.Fault)
		}
	}
	return list
}

// remove removes the selected faults. It reports whether there was one.
func (s *faultSet) remove(selected func(Fault) bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.list)
	s.list = slices.DeleteFunc(s.list, func(f *activeFault) bool { return selected(f.Fault) })
	return len(s.list) < before
}

// match returns the fault for a call, if any: the first active one that matches the call, drawn by its probability.
func (s *faultSet) match(a Account, call Call) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	out := slices.Contains(callsOut, call)
	for _, f := range s.list {
		matches := (f.Space == "" || f.Space == a.Space) &&
			(f.Platform == "" || f.Platform == a.Platform || f.Platform == a.Plugin) &&
			(f.Call == "" || f.Call == call) && out == (f.Kind == FaultDuplicate) && (f.Times == 0 || f.Hits < f.Times)
		if matches && (f.Probability == 0 || f.random.Float64() < f.Probability) {
			f.Hits++
			return f.Fault, true
		}
	}
	return Fault{}, false
}
