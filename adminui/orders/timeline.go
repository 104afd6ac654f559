package orders

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/order"
)

// orderView is an order as the page shows it.
type orderView struct {
	facts    []ui.Fact
	timeline []happening
	payload  string
	whole    string
}

// happening is something that happened to an order.
type happening struct {
	key   string
	at    ui.Instant
	clock string
	state ui.State
	title string
	href  string
	words string
	note  string
	tries []try
}

// try is an attempt of a call to the aggregator.
type try struct {
	title    string
	address  string // with the method
	state    ui.State
	verdict  string
	took     string
	sentHead []ui.Option
	sent     string
	gotHead  []ui.Option
	got      string
}

// timeline puts what is known of an order in the order of time.
func timeline(v *shell.Visit, r order.Relay, o cause.Ordered) []happening {
	var list []happening
	add := func(at time.Time, h happening) {
		h.at, h.clock = v.At(at), clockOf(v, at)
		list = append(list, h)
	}
	for i, step := range o.History {
		add(time.UnixMilli(step.At), happening{state: cause.StateOfOrder(string(step.State)), title: string(step.State), words: moved(r, step, i == 0), note: step.Message})
	}
	for _, flag := range o.Flags {
		add(time.UnixMilli(r.Order.Details.Created), happening{state: ui.Warn, title: text.FlagTitle, words: flag.Message, note: flag.Path})
	}
	for _, ride := range o.Rides {
		add(time.UnixMilli(ride.At), happening{state: ui.Run, title: text.Rider + " " + string(ride.Status),
			words: fmt.Sprintf(text.MovedBy, ride.Actor), note: strings.TrimSpace(ride.Name + " " + ride.Phone)})
	}
	for _, d := range o.Deliveries {
		told := cause.Delivery(d, v.Zone)
		add(d.CreatedAt, happening{state: told.State, title: string(d.EventType), words: told.Text, note: d.URL, href: v.Link("deliveries/" + d.ID.String() + "/")})
	}
	for _, call := range o.Calls {
		told := cause.Call(call)
		add(call.CreatedAt, happening{state: told.State, title: cause.CallTitle(call), words: told.Text, note: told.Detail, tries: tries(call.Attempts)})
	}
	slices.SortStableFunc(list, func(a, b happening) int { return cmp.Compare(a.at.At.UnixMilli(), b.at.At.UnixMilli()) })
	for i := range list {
		list[i].key = fmt.Sprintf("at-%d", i)
	}
	return list
}

func moved(r order.Relay, step order.Step, first bool) string {
	words := fmt.Sprintf(text.MovedBy, step.Actor)
	if first {
		for _, platform := range r.Order.Details.Platforms {
			words = fmt.Sprintf(text.PlacedBy, step.Actor, platform.ID, platform.Name)
		}
	}
	if step.ReasonCode != "" {
		words += " " + step.ReasonCode + "."
	}
	if step.PrepMinutes != nil {
		words += " " + fmt.Sprintf(text.ReadyIn, *step.PrepMinutes)
	}
	return words
}

// clockOf is the time of day, with the day where that is not today.
func clockOf(v *shell.Visit, at time.Time) string {
	at, now := at.In(v.Zone), v.Now.In(v.Zone)
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format(time.TimeOnly)
	}
	return at.Format("2 Jan " + time.TimeOnly)
}

func tries(attempts []console.CallAttempt) []try {
	list := make([]try, 0, len(attempts))
	for _, a := range attempts {
		one := try{title: fmt.Sprintf(text.Attempt, a.N), address: a.Method + " " + a.URL, state: ui.OK, verdict: fmt.Sprint(a.Status), took: ui.Took(a.Took),
			sentHead: ui.Headers(a.RequestHeaders), gotHead: ui.Headers(a.ResponseHeaders), sent: ui.Pretty(a.RequestBody, 8<<10), got: ui.Pretty(a.ResponseBody, 8<<10)}
		if a.ErrorClass != "" {
			one.state, one.verdict = ui.Err, a.Error
		}
		list = append(list, one)
	}
	return list
}
