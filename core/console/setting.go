package console

import (
	"fmt"
	"time"

	"github.com/servery-hub/servery/core"
)

// PlatformSettings is a platform of a business as it is set up. Secrets are
// named, never told.
type PlatformSettings struct {
	core.Platform
	Settings  []byte               // a JSON object, or nothing
	Addresses map[string]string    // by name of endpoint
	Secrets   map[string]time.Time // when each was set; zero where that is not known
	Accept    string               // who accepts its orders: hub or pos
	Keys      []time.Time          // when the keys were made by which it may call the hub, the newest first
	RefusedAt time.Time            // when a call in its name was last not believed; zero: none is known
	Refused   string               // why
	Version   string               // differs once something of it was changed
}

// Watching is how a business is watched over. Of a span, nil is as the hub says and
// 0 is never.
type Watching struct {
	AckWithin   *time.Duration // how long an order may wait for its acknowledgement
	SilentAfter *time.Duration // how long nothing may be heard of a POS
	CloseSilent bool           // stores are closed on the platforms while their POS is silent
}

// AsHub is the word for a span that is as the hub says.
const AsHub = "hub"

// The bounds of the spans of Watching. An order must be placed and stored within the
// least; of POSes it is looked at by the minute.
const (
	leastAck, mostAck         = 10 * time.Second, 24 * time.Hour
	leastSilence, mostSilence = time.Minute, 7 * 24 * time.Hour
)

// SetAckWithin takes a span such as 5m, 0 or hub; Invalid where it is another.
func (w *Watching) SetAckWithin(text string) error {
	return span(&w.AckWithin, "acknowledge-within", text, leastAck, mostAck)
}

// SetSilentAfter takes a span such as 15m, 0 or hub; Invalid where it is another.
func (w *Watching) SetSilentAfter(text string) error {
	return span(&w.SilentAfter, "pos-silent-after", text, leastSilence, mostSilence)
}

func span(into **time.Duration, name, text string, least, most time.Duration) error {
	if text == AsHub {
		*into = nil
		return nil
	}
	value, err := time.ParseDuration(text)
	if err != nil || value != 0 && (value < least || value > most || value%time.Second != 0) {
		return core.Errorf(core.Invalid, "%s must be %s, 0 or whole seconds between %v and %v, such as 5m", name, AsHub, least, most)
	}
	*into = &value
	return nil
}

// Told is the spans and the rule under the names of their flags.
func (w Watching) Told() map[string]any {
	return map[string]any{"acknowledge-within": SpanText(w.AckWithin), "pos-silent-after": SpanText(w.SilentAfter), "close-silent-stores": w.CloseSilent}
}

// SpanText is a span as SetAckWithin reads it.
func SpanText(span *time.Duration) string {
	switch {
	case span == nil:
		return AsHub
	case *span == 0:
		return "0"
	case *span%time.Hour == 0:
		return fmt.Sprintf("%dh", *span/time.Hour)
	case *span%time.Minute == 0:
		return fmt.Sprintf("%dm", *span/time.Minute)
	}
	return span.String()
}
