// Package limit implements the throttles: a sliding window for each business and rule, shared by all replicas, and
// the block after a breach.
package limit

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
)

// Rule allows Count requests in any span of Per. A breach blocks requests for Block. If Block is zero, requests pass
// again as soon as the window has capacity. The zero Rule allows everything.
type Rule struct {
	Count int
	Per   time.Duration
	Block time.Duration
}

// Off reports whether the rule allows everything.
func (r Rule) Off() bool { return r.Count == 0 }

// ParseRule parses COUNT/SPAN, such as 20/1m or 1/5s, or off. A breach blocks for the span.
func ParseRule(s string) (Rule, error) {
	if strings.EqualFold(s, "off") {
		return Rule{}, nil
	}
	count, span, _ := strings.Cut(s, "/")
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 {
		return Rule{}, fmt.Errorf("must be COUNT/SPAN such as 20/1m, or off, not %q", s)
	}
	per, err := time.ParseDuration(span)
	if err != nil || per < time.Second || per > 24*time.Hour {
		return Rule{}, fmt.Errorf("must have a span from 1s to 24h after the slash, not %q", s)
	}
	return Rule{Count: n, Per: per, Block: per}, nil
}

// Decision is the result for one request.
type Decision struct {
	Allowed    bool
	Limit      int
	Remaining  int           // requests that would still pass now
	Reset      time.Duration // until the window has capacity again, or the block ends
	RetryAfter time.Duration // of a rejection
}

// maxEntries bounds the log of a window. A rule with a larger count groups neighbouring requests and counts a group
// at the end of its time span. Thus at most Count requests pass in any span.
const maxEntries = 240

// countedAt returns the time at which a request is counted.
func (r Rule) countedAt(at int64) int64 {
	if r.Count <= maxEntries {
		return at
	}
	grain := r.Per.Microseconds() / maxEntries
	return (at/grain + 1) * grain
}

// window is a window: times (microseconds since 1970) with their number of requests, oldest first, and the end of a
// block.
type window struct {
	blockedUntil int64
	entries      []entry
}

type entry struct{ at, count int64 }

// count adds a request to the log. A stamp can be older than the last entry, because replicas' clocks differ a
// little.
func (s *window) count(stamp int64) {
	last := len(s.entries) - 1
	if last >= 0 && s.entries[last].at >= stamp {
		s.entries[last].count++
		return
	}
	s.entries = append(s.entries, entry{stamp, 1})
}

// maxClockDifference bounds the difference between the clocks of replicas, in microseconds.
const maxClockDifference = 5e6

// isAhead reports whether a window has later times than one request and its block now. The clock was then set back.
func (s *window) isAhead(counted, blockedUntil int64) bool {
	last := len(s.entries) - 1
	return s.blockedUntil > blockedUntil+maxClockDifference ||
		last >= 0 && s.entries[last].at > counted+maxClockDifference
}

// take decides one request and updates the state.
func (r Rule) take(s *window, now time.Time) Decision {
	at, per := now.UnixMicro(), r.Per.Microseconds()
	if s.isAhead(r.countedAt(at), at+r.Block.Microseconds()) {
		*s = window{}
	}
	if s.blockedUntil > at {
		wait := time.Duration(s.blockedUntil-at) * time.Microsecond
		return Decision{Limit: r.Count, Reset: wait, RetryAfter: wait}
	}
	used, keep := int64(0), 0
	for keep < len(s.entries) && s.entries[keep].at <= at-per {
		keep++
	}
	s.entries = s.entries[keep:]
	for _, e := range s.entries {
		used += e.count
	}
	if used >= int64(r.Count) {
		wait := time.Duration(s.entries[0].at+per-at) * time.Microsecond
		if r.Block > 0 {
			s.blockedUntil = at + r.Block.Microseconds()
			wait = r.Block
		}
		return Decision{Limit: r.Count, Reset: wait, RetryAfter: wait}
	}
	s.count(r.countedAt(at))
	return Decision{
		Allowed: true, Limit: r.Count, Remaining: r.Count - int(used) - 1,
		Reset: time.Duration(s.entries[0].at+per-at) * time.Microsecond,
	}
}

// encode returns a state as eight-byte numbers, for decode.
func (s *window) encode() []byte {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, 8+16*len(s.entries)), uint64(s.blockedUntil))
	for _, e := range s.entries {
		b = binary.BigEndian.AppendUint64(b, uint64(e.at))
		b = binary.BigEndian.AppendUint64(b, uint64(e.count))
	}
	return b
}

func decode(b []byte) *window {
	s := &window{}
	if len(b) < 8 {
		return s
	}
	s.blockedUntil = int64(binary.BigEndian.Uint64(b))
	for b = b[8:]; len(b) >= 16; b = b[16:] {
		s.entries = append(s.entries, entry{int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:]))})
	}
	return s
}

// BlockedUntil returns the end of the latest block in a stored state, or zero if there was none.
func BlockedUntil(state []byte) time.Time {
	if s := decode(state); s.blockedUntil != 0 {
		return time.UnixMicro(s.blockedUntil)
	}
	return time.Time{}
}

// StateStore stores the states of throttles.
type StateStore interface {
	// Change replaces a state with the result of change. Changes of a state are serialised.
	Change(ctx context.Context, business core.BusinessID, name string, change func(state []byte) []byte) error
}

// Throttle decides requests.
type Throttle struct {
	States StateStore
	Clock  core.Clock
}

// Take counts a request of the business under the named rule.
func (t Throttle) Take(ctx context.Context, business core.BusinessID, name string, rule Rule) (Decision, error) {
	if rule.Off() {
		return Decision{Allowed: true}, nil
	}
	var decision Decision
	err := t.States.Change(ctx, business, name, func(encoded []byte) []byte {
		s := decode(encoded)
		decision = rule.take(s, t.Clock.Now())
		return s.encode()
	})
	return decision, err
}

// Peek returns what Take would decide now. It counts nothing.
func (t Throttle) Peek(ctx context.Context, business core.BusinessID, name string, rule Rule) (Decision, error) {
	decision := Decision{Allowed: true}
	if rule.Off() {
		return decision, nil
	}
	err := t.States.Change(ctx, business, name, func(encoded []byte) []byte {
		decision = rule.take(decode(encoded), t.Clock.Now())
		return encoded
	})
	return decision, err
}
