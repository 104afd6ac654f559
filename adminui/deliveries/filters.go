package deliveries

import (
	"slices"
	"strconv"
	"strings"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// filters are the names of what narrows the list and what is sent again.
var filters = []string{"state", "event", "webhook", "reference"}

// wanted are the filters as they are read.
type wanted struct {
	state     webhook.State
	event     core.EventType
	webhook   int64
	reference string
}

// wantedBy reads the filters. One that cannot be read is Invalid: without it more
// would be shown, and sent again, than was meant.
func wantedBy(value func(string) string) (w wanted, err error) {
	field := func(name string) string { return strings.TrimSpace(value(name)) }
	w = wanted{state: webhook.State(field("state")), event: core.EventType(field("event")), reference: field("reference")}
	if !slices.ContainsFunc(states, func(o ui.Option) bool { return o.Value == string(w.state) }) {
		return w, core.Errorf(core.Invalid, text.FilterState, w.state)
	}
	if named := field("webhook"); named != "" {
		if w.webhook, err = strconv.ParseInt(named, 10, 64); err != nil || w.webhook <= 0 {
			return w, core.Errorf(core.Invalid, text.FilterWebhook, named)
		}
	}
	return w, nil
}
