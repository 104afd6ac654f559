// Package webhooks shows the webhooks of a business with their health, and pauses and resumes them.
package webhooks

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/deliveries"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/webhook"
)

// Reader reads webhooks and their audit entries.
type Reader interface {
	Endpoints(ctx context.Context, business core.BusinessID, after int64, limit int) ([]console.Endpoint, error)
	Endpoint(ctx context.Context, business core.BusinessID, id int64) (console.Endpoint, error)
	Audit(ctx context.Context, business core.BusinessID, f console.EntryFilter) ([]console.Entry, error)
}

// Updater pauses, resumes and changes webhooks.
type Updater interface {
	ChangeWebhook(ctx context.Context, business core.BusinessID, id int64, input webhook.Input,
		change access.Change) error
	SwitchWebhook(ctx context.Context, business core.BusinessID, id int64, active bool, change access.Change) error
}

// Recorder writes audit entries.
type Recorder interface {
	Record(ctx context.Context, change access.Change) error
}

// Counts counts the attempts of webhooks by time span.
type Counts interface {
	Counts(ctx context.Context, businesses []core.BusinessID, webhook int64, grain time.Duration,
		since time.Time) ([]console.Count, error)
}

// Pages are the pages of webhooks.
type Pages struct {
	Webhooks   Reader
	Updater    Updater
	Recorder   Recorder
	Counts     Counts
	Deliveries deliveries.Reader
	Tester     Tester
	Rotator    Rotator
}

// Page returns the descriptor of the pages.
func (p Pages) Page() shell.Page {
	const path = shell.BusinessPath + "webhooks/"
	return shell.Page{Path: path, Label: text.Webhooks, Object: "webhook",
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.List),
			shell.Get(path+":id/", access.Viewer, p.One),
			shell.Post(path+":id/pause/", access.Support, p.Pause),
			shell.Post(path+":id/resume/", access.Support, p.Resume),
			shell.Post(path+":id/test/", access.Support, p.Test),
			shell.Post(path+":id/rotate/", access.Support, p.Rotate),
			shell.Post(path+":id/event-header/", access.Support, p.SetEventHeader),
		},
		Done: map[string]string{"paused": text.WebhookPaused, "resumed": text.WebhookResumed, "tested": text.TestSent,
			"headed": text.EventHeaderSet}}
}

// List shows the webhooks of a business, with the causes of failing ones above.
func (p Pages) List(c *fiber.Ctx, v *shell.PageContext) error {
	after, _ := strconv.ParseInt(v.Query.Get("after"), 10, 64)
	found, err := p.Webhooks.Endpoints(c.UserContext(), v.Business.ID, after, v.Limit())
	if err != nil {
		return err
	}
	list := ui.List{Name: text.Webhooks, EmptyTitle: text.NoWebhooksTitle, EmptyText: text.NoWebhooksText,
		Columns: []ui.Column{
			{Label: text.Event}, {Label: text.State}, {Label: text.Address, Kind: ui.Wide},
			{Label: text.SuccessRate, Kind: ui.Figure},
			{Label: text.Latency, Kind: ui.Figure}, {Label: text.Pending, Kind: ui.Figure},
			{Label: text.Waiting, Kind: ui.Figure}, {Label: text.LastAccepted}}}
	for _, e := range found {
		href := v.Link(fmt.Sprintf("webhooks/%d/", e.ID))
		state, words := stateOf(e)
		list.AddAt(fmt.Sprint(e.ID), ui.Cell{Text: string(e.EventType), Href: href, Note: fmt.Sprint(e.ID)},
			ui.StateCell(state, words), ui.CodeCell(e.URL), ui.T(rate(e.LastDay)), ui.T(average(e.LastDay)),
			ui.T(countOrBlank(e.Waiting)), ui.T(countOrBlank(e.Held)), ui.TimeCell(v.At(e.Health.SucceededAt)))
	}
	var causes []ui.Cause
	failing := slices.DeleteFunc(slices.Clone(found[:min(len(found), shell.PageSize)]), func(e console.Endpoint) bool {
		state, _ := stateOf(e)
		return state != ui.Err && state != ui.Held && e.FailedDeliveries == 0
	})
	for _, f := range Causes(v, failing) {
		causes = append(causes, f.Cause)
	}
	return v.ShowList(c, shell.Head{Title: text.Webhooks, Note: text.WebhooksNote,
		Causes: causes, Live: true}, list, "after")
}

// Causes returns why webhooks fail, each with a link to its page.
func Causes(v *shell.PageContext, found []console.Endpoint) []cause.Failure {
	list := cause.Failures(found, v.Now, v.Zone)
	for i, f := range list {
		first := f.Webhooks[0]
		list[i].Link, list[i].SecondLink = ui.Link{Href: shell.BusinessLink(first.Business,
			fmt.Sprintf("webhooks/%d/", first.ID)), Label: text.ActSeeWebhook}, failedLink(first)
		if len(f.Webhooks) > 1 {
			list[i].Link, list[i].SecondLink = ui.Link{Href: shell.BusinessLink(first.Business, "webhooks/"),
				Label: text.ActSeeWebhooks}, ui.Link{}
		}
	}
	return list
}

// failedLink returns the link to the failed deliveries of a webhook, or zero without any.
func failedLink(e console.Endpoint) ui.Link {
	if e.FailedDeliveries == 0 {
		return ui.Link{}
	}
	return ui.Link{Href: shell.BusinessLink(e.Business,
		fmt.Sprintf("deliveries/?state=%s&webhook=%d&of=failed&when=24h", webhook.Failed, e.ID)),
		Label: text.ActSeeFailedDeliveries}
}

func stateOf(e console.Endpoint) (ui.State, string) {
	switch {
	case !e.Active && e.DisabledReason != "":
		return ui.Err, text.Off
	case !e.Active:
		return ui.Held, text.Paused
	case !e.Health.FailingSince.IsZero():
		return ui.Err, text.Failing
	case e.Health.SucceededAt.IsZero():
		return ui.Neutral, text.Unused
	default:
		return ui.OK, text.Works
	}
}

func rate(c console.Count) string {
	if c.Attempts() == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", c.SuccessRate())
}

func average(c console.Count) string {
	if c.Attempts() == 0 {
		return ""
	}
	return ui.Took(c.Average())
}

func countOrBlank(n int) string {
	if n == 0 {
		return ""
	}
	return cause.CappedNumber(n)
}

func id(c *fiber.Ctx) (int64, error) {
	id, err := strconv.ParseInt(c.Params("id"), 10, 64)
	if err != nil {
		return 0, core.Errorf(core.NotFound, text.NotFound)
	}
	return id, nil
}

// One shows a webhook.
func (p Pages) One(c *fiber.Ctx, v *shell.PageContext) error {
	number, err := id(c)
	if err != nil {
		return err
	}
	e, err := p.Webhooks.Endpoint(c.UserContext(), v.Business.ID, number)
	if err != nil {
		return err
	}
	latest, err := p.Deliveries.List(c.UserContext(), v.Business.ID, webhook.Filter{WebhookID: number, Limit: 20})
	if err != nil {
		return err
	}
	hour, err := p.Counts.Counts(c.UserContext(), []core.BusinessID{v.Business.ID}, number, time.Minute,
		v.Now.Add(-time.Hour))
	if err != nil {
		return err
	}
	changes, err := p.Webhooks.Audit(c.UserContext(), v.Business.ID,
		console.EntryFilter{Object: fmt.Sprintf("webhook/%d", number), Limit: 1})
	if err != nil {
		return err
	}
	summary := cause.Webhook(e, v.Now, v.Zone)
	summary.SecondLink = failedLink(e)
	if summary.State == ui.Err && e.Health.Delivery != (core.ID{}) {
		summary.Link = ui.Link{Href: v.Link("deliveries/" + e.Health.Delivery.String() + "/"),
			Label: text.ActSeeDelivery}
	}
	head := shell.Head{Title: string(e.EventType), Note: fmt.Sprintf(text.WebhookTitle, e.ID),
		Parent: ui.Link{Href: v.Link("webhooks/"), Label: text.Webhooks},
		Causes: []ui.Cause{summary}, Live: true}
	if v.MayAct() {
		head.Buttons = buttons(v, e)
	}
	all := ui.Link{Href: v.Link(fmt.Sprintf("deliveries/?webhook=%d", number)), Label: text.AllDeliveries}
	return v.Show(c, head, templ.Join(ui.FiguresOf(figures(e, hour)), ui.FactsOf(facts(v, e, changes)),
		ui.Part(text.LatestDeliveries, all, ui.ListOf(deliveries.Table(v, latest, false)))))
}

// figures returns the results of the attempts in the last day and the last hour.
func figures(e console.Endpoint, hour []console.Count) []ui.Metric {
	var lastHour console.Count
	for _, count := range hour {
		lastHour.Add(count)
	}
	return []ui.Metric{
		{Label: text.AcceptedRate, Value: orDash(rate(e.LastDay)),
			Note: attemptsNote(e.LastDay)},
		{Label: text.AcceptedHour, Value: orDash(rate(lastHour)),
			Note: attemptsNote(lastHour)},
		{Label: text.Latency, Value: orDash(average(e.LastDay)),
			Note: fmt.Sprintf(text.AtWorst, ui.Took(e.LastDay.Slowest))},
		{Label: text.Pending, Value: cause.CappedNumber(e.Waiting),
			Note: fmt.Sprintf(text.AndHeld, cause.CappedNumber(e.Held))}}
}

func attemptsNote(c console.Count) string {
	return fmt.Sprintf(text.OfAttempts, ui.Count(c.Attempts(), text.OneAttempt, text.Attempts_))
}

// facts returns the properties of a webhook. changes are its latest audit entries.
func facts(v *shell.PageContext, e console.Endpoint, changes []console.Entry) []ui.Fact {
	state, words := stateOf(e)
	list := []ui.Fact{{Label: text.State, Cell: ui.StateCell(state, words)},
		{Label: text.Event, Cell: ui.T(string(e.EventType))},
		{Label: text.Address, Cell: ui.CodeCell(e.URL)},
		{Label: text.LastAccepted, Cell: ui.TimeCell(v.At(e.Health.SucceededAt))},
		{Label: text.LastFailed, Cell: ui.TimeCell(v.At(e.Health.FailedAt))},
		{Label: text.FailingSince, Cell: ui.TimeCell(v.At(e.Health.FailingSince))},
		{Label: text.RetryUnits, Cell: ui.T(fmt.Sprintf(text.RetrySpan, e.Units))},
		{Label: text.Headers, Cell: headers(v, e)},
		{Label: text.EventHeader, Cell: eventHeader(e)},
		{Label: text.OldSecretUntil, Cell: ui.TimeCell(v.At(previousSecretUntil(v, e)))},
		{Label: text.Created, Cell: ui.TimeCell(v.At(e.CreatedAt))}}
	for _, change := range changes {
		list = append(list,
			ui.Fact{Label: text.LastChanged,
				Cell: ui.Cell{Text: change.Action, Href: v.Link(fmt.Sprintf("audit/?object=webhook/%d", e.ID)),
					Note: cause.ActorLabel(change.Actor) + ", " + v.At(change.At).Exact()}})
	}
	return list
}

// headers returns the headers that the subscriber chose, without their values.
func headers(v *shell.PageContext, e console.Endpoint) ui.Cell {
	cell := ui.CodeCell(cause.MaskedHeaders(e.HeaderNames))
	if len(e.HeaderNames) == 0 {
		cell = ui.T(text.NoneSet)
	}
	if !e.HeadersChangedAt.IsZero() {
		cell.Note = fmt.Sprintf(text.HeadersChanged, v.At(e.HeadersChangedAt).Exact())
	}
	return cell
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
