package deliveries

import (
	"cmp"
	"net/url"
	"time"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// linkWithFilters returns the path of a page of the business with the filters of this page.
func linkWithFilters(v *shell.PageContext, f filter, path string) string {
	query := url.Values{}
	for _, name := range filterNames {
		if value := v.Query.Get(name); value != "" {
			query.Set(name, value)
		}
	}
	if f.times.Preset != "" { // which would move on
		query.Del("when")
		for name, value := range f.times.Explicit(v.Zone) {
			query.Set(name, value)
		}
	}
	return v.Link(path) + "?" + query.Encode()
}

// selectorOf returns the deliveries that match the filters and ended by at; failed ones by default. The selection
// never grows, so two equal counts select the same deliveries.
func selectorOf(value func(string) string, zone *time.Location, at time.Time) (webhook.Selector, error) {
	f, err := parseFilter(value, at, zone)
	if err != nil {
		return webhook.Selector{}, err
	}
	return f.selector(at)
}

// selector returns the deliveries that match the filters and ended by at, for selectorOf.
func (f filter) selector(at time.Time) (webhook.Selector, error) {
	switch {
	case f.state == webhook.Pending || f.state == webhook.Held:
		return webhook.Selector{}, core.Errorf(core.Invalid, text.BulkResendState)
	case f.text != "": // without it, more would be resent
		return webhook.Selector{}, core.Errorf(core.Invalid, text.SearchBulkResend)
	}
	selector := webhook.Selector{State: cmp.Or(f.state, webhook.Failed), EventType: f.event, WebhookID: f.webhook,
		ProblemID: f.problem,
		OrderID:   f.order, Reference: f.reference, Status: f.status, To: at, EndedBy: at}
	from, to := &selector.From, &selector.To
	if f.OfFailure {
		from, to = &selector.EndedFrom, &selector.EndedBy
		f.times.To = f.times.To.Add(-time.Microsecond) // EndedBy is inclusive
	}
	if !f.times.From.IsZero() {
		*from = f.times.From.UTC()
	}
	if f.times.To.After(time.Time{}) && f.times.To.Before(at) {
		*to = f.times.To.UTC()
	}
	return selector, nil
}

// BulkResend shows how many deliveries match the filters, before they are resent.
func (p Pages) BulkResend(c *fiber.Ctx, v *shell.PageContext) error {
	return p.showBulkResend(c, v, v.Query.Get, "")
}

func (p Pages) showBulkResend(c *fiber.Ctx, v *shell.PageContext, value func(string) string, problem string) error {
	counted := NewSnapshot(v)
	selector, err := selectorOf(value, v.Zone, counted.At)
	if err != nil {
		return err
	}
	if err = counted.CountFor(c.UserContext(), p.Deliveries, v.Business.ID, selector); err != nil {
		return err
	}
	_, state := stateOf(selector.State)
	facts := []ui.Fact{{Label: text.BulkResendCount, Cell: ui.T(counted.Number())},
		{Label: text.BulkResendCounted, Cell: ui.TimeCell(v.At(v.Now))}, {Label: text.State, Cell: ui.T(state)},
		{Label: text.Event, Cell: ui.T(string(selector.EventType))},
		{Label: text.Webhook, Cell: ui.T(value("webhook"))},
		{Label: text.ProblemColumn, Cell: ui.T(value("problem"))},
		{Label: text.Order, Cell: ui.T(value("order"))}, {Label: text.Reference_, Cell: ui.T(selector.Reference)},
		{Label: text.LastStatus, Cell: ui.T(value("status"))},
		{Label: text.BulkResendFrom, Cell: fromCell(v, selector.From)},
		{Label: text.BulkResendTo, Cell: ui.T(v.At(selector.To).Exact())}}
	if value("of") == shell.OfFailure {
		facts = append(facts[:len(facts)-2], ui.Fact{Label: text.FailedFrom, Cell: fromCell(v, selector.EndedFrom)},
			ui.Fact{Label: text.FailedBy, Cell: ui.T(v.At(selector.EndedBy).Exact())})
	}
	button := counted.Button(v, v.Link("deliveries/resend/"), text.BulkResendHelp)
	for _, name := range filterNames {
		button.Hidden = append(button.Hidden, ui.Option{Label: name, Value: value(name)})
	}
	head := shell.Head{Title: text.BulkResendTitle,
		Parent: ui.Link{Href: v.Link("deliveries/"), Label: text.Deliveries}}
	ShowChanged(c, &head, &button, problem)
	question := ui.Quiet(text.BulkResendNone)
	if counted.Count > 0 {
		question = ui.Confirm(button)
	}
	return v.Show(c, head, templ.Join(ui.FactsOf(facts), question))
}

func fromCell(v *shell.PageContext, from time.Time) ui.Cell {
	if from.IsZero() {
		return ui.T(text.BulkResendBeginning)
	}
	return ui.T(v.At(from).Exact())
}

// QueueBulkResend queues a job that resends the counted deliveries. If the count has changed since, it shows the
// new count instead.
func (p Pages) QueueBulkResend(c *fiber.Ctx, v *shell.PageContext) error {
	value := func(name string) string { return shell.Field(c, name) }
	counted, err := ReadSnapshot(c)
	if err != nil {
		return err
	}
	selector, err := selectorOf(value, v.Zone, counted.At)
	if err != nil {
		return err
	}
	confirmed, err := counted.Confirm(c, p.Deliveries, v.Business.ID, selector)
	if err != nil {
		return err
	}
	if confirmed.Changed != "" {
		return p.showBulkResend(c, v, value, confirmed.Changed)
	}
	job, err := confirmed.Selector.Job(v.Business.ID, confirmed.Count, v.Now)
	if err != nil {
		return err
	}
	change := v.Change(c, "delivery.retry_many")
	change.After = confirmed.Audit(map[string]any{"filter": confirmed.Selector})
	if err := p.Resender.QueueJob(c.UserContext(), job, change); err != nil {
		return err
	}
	return shell.RedirectDone(c, v.Link("jobs/"+job.ID.String()+"/"), "queued")
}
