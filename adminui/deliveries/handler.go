// Package deliveries lists event deliveries and their attempts, and resends them.
package deliveries

import (
	"context"
	"fmt"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/webhook"
)

// Reader reads deliveries.
type Reader interface {
	List(ctx context.Context, business core.BusinessID, filter webhook.Filter) ([]webhook.DeliveryRecord, error)
	Get(ctx context.Context, business core.BusinessID, id core.ID) (webhook.DeliveryRecord, []webhook.AttemptRecord,
		error)
	Count(ctx context.Context, business core.BusinessID, choice webhook.Selector) (int, error)
	CountUpTo(ctx context.Context, business core.BusinessID, choice webhook.Selector) (n int, more bool, err error)
	SelectedIDs(ctx context.Context, business core.BusinessID, choice webhook.Selector) ([]core.ID, error)
}

// Searcher searches the payloads and responses of deliveries for a text.
type Searcher interface {
	SearchDeliveries(ctx context.Context, business core.BusinessID, f webhook.Filter,
		text string) ([]webhook.DeliveryRecord, console.SearchProgress[webhook.DeliveryRecord], error)
}

// EventBodies reads event bodies.
type EventBodies interface {
	EventBody(ctx context.Context, business core.BusinessID, event core.ID) ([]byte, error)
}

// Bodies reads event bodies, also of earlier deliveries.
type Bodies interface {
	EventBodies
	// PreviousBody returns the previous body that the webhook received for the same object, or NotFound.
	PreviousBody(ctx context.Context, business core.BusinessID, d webhook.DeliveryRecord) (core.ID, []byte, error)
}

// Resender resends deliveries: some by id, many by a job.
type Resender interface {
	ResendDeliveries(ctx context.Context, business core.BusinessID, ids []core.ID, change access.Change) error
	QueueJob(ctx context.Context, work core.Job, change access.Change) error
}

// Trail reads the audit trail.
type Trail interface {
	Audit(ctx context.Context, business core.BusinessID, f console.EntryFilter) ([]console.Entry, error)
}

// Pages is the delivery pages.
type Pages struct {
	Deliveries Reader
	Searcher   Searcher
	Bodies     Bodies
	Resender   Resender
	Trail      Trail
}

// Page describes the pages.
func (p Pages) Page() shell.Page {
	const path = shell.BusinessPath + "deliveries/"
	return shell.Page{Path: path, Label: text.Deliveries, Object: "delivery",
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.List),
			shell.Post(path+"retry/", access.Support, p.ResendSelected),
			shell.Get(path+"resend/", access.Support, p.BulkResend),
			shell.Post(path+"resend/", access.Support, p.QueueBulkResend),
			shell.Get(path+":id/", access.Viewer, p.One),
			shell.Get(path+":id/diff/", access.Viewer, p.Diff),
			shell.Get(path+":id/payload.json", access.Viewer, p.Payload),
			shell.Get(path+":id/response/:attempt", access.Viewer, p.Response),
			shell.Post(path+":id/retry/", access.Support, p.Resend),
		},
		Filters: &shell.Filters{Names: filterNames, Check: shell.CheckBy(parseFilter)},
		Done: map[string]string{"retried": text.DeliveriesRetry, "retried_rest": text.RetriedRest,
			"queued": text.BulkResendQueued}}
}

// jobEvents are the events whose reference is a job.
var jobEvents = []core.EventType{core.StoreCreation, core.InventoryUpdate, core.CatalogueTimingGroup, core.WebhookRetry}

var stateOptions = []ui.Option{{Value: "", Label: text.Any},
	{Value: string(webhook.Pending), Label: text.State_pending},
	{Value: string(webhook.Held), Label: text.State_held},
	{Value: string(webhook.Delivered), Label: text.State_delivered},
	{Value: string(webhook.Failed), Label: text.State_failed}}

func stateOf(s webhook.State) (ui.State, string) {
	colours := map[webhook.State]ui.State{webhook.Pending: ui.Wait, webhook.Held: ui.Held, webhook.Delivered: ui.OK,
		webhook.Failed: ui.Err}
	for _, o := range stateOptions {
		if o.Value == string(s) {
			return colours[s], o.Label
		}
	}
	return ui.Neutral, string(s)
}

// stateCell shows the state of a delivery, and why it waits.
func stateCell(d webhook.DeliveryRecord) ui.Cell {
	cell := ui.StateCell(stateOf(d.State))
	cell.Note = cause.WaitingNote(d)
	return cell
}

func eventOptions() []ui.Option {
	options := []ui.Option{{Value: "", Label: text.Any}}
	for _, event := range core.EventTypes() {
		options = append(options, ui.Option{Value: string(event), Label: string(event)})
	}
	return options
}

func (p Pages) get(c *fiber.Ctx, v *shell.PageContext) (webhook.DeliveryRecord, []webhook.AttemptRecord, error) {
	id, err := uuid.Parse(c.Params("id"))
	if err != nil {
		return webhook.DeliveryRecord{}, nil, core.Errorf(core.NotFound, text.NotFound)
	}
	return p.Deliveries.Get(c.UserContext(), v.Business.ID, id)
}

// One shows a delivery and its attempts.
func (p Pages) One(c *fiber.Ctx, v *shell.PageContext) error {
	d, attempts, err := p.get(c, v)
	if err != nil {
		return err
	}
	payload, err := p.Bodies.EventBody(c.UserContext(), v.Business.ID, d.EventID)
	if err != nil && core.CodeOf(err) != core.NotFound {
		return err
	}
	page := v.Link("deliveries/" + d.ID.String() + "/")
	view := deliveryView{attempts: attemptViews(v, page, attempts),
		payload:     ui.PayloadOf("payload", text.Payload, payload, ui.MaxShown, page+"payload.json"),
		downloadURL: page + "payload.json",
		curl:        curl(d, attempts, payload)}
	status, err := p.statusCause(c.UserContext(), v, d, attempts)
	if err != nil {
		return err
	}
	view.facts = deliveryFacts(v, d, len(attempts))
	if d.WebhookID != 0 && d.State != webhook.Delivered {
		status.Link = ui.Link{Href: webhookPath(v, d), Label: text.ActSeeWebhook}
	}
	if d.HeldReason == webhook.EarlierEvent && d.OrderID != 0 {
		subject := subjectCell(v, d)
		status.Link = ui.Link{Href: subject.Href, Label: subject.Text}
	}
	if d.ProblemID != 0 && status.SecondLink.Href == "" {
		status.SecondLink = ui.Link{Href: problemPath(v, d), Label: text.ActSeeProblem}
	}
	head := shell.Head{Title: string(d.EventType), Note: d.ID.String(),
		Parent: ui.Link{Href: v.Link("deliveries/"), Label: text.Deliveries}, Causes: []ui.Cause{status}, Live: true}
	if payload != nil {
		head.Links = []ui.Link{{Href: page + "diff/", Label: text.DiffShow}}
	}
	if button := ResendButton(v, d); button != nil && v.MayAct() {
		head.Buttons = []ui.Button{*button}
	}
	return v.Show(c, head, deliveryPage(view))
}

func webhookPath(v *shell.PageContext, d webhook.DeliveryRecord) string {
	return v.Link(fmt.Sprintf("webhooks/%d/", d.WebhookID))
}

func problemPath(v *shell.PageContext, d webhook.DeliveryRecord) string {
	return v.Link(fmt.Sprintf("problems/%d/", d.ProblemID))
}

// deliveryFacts describes a delivery whose page shows the given number of attempts.
func deliveryFacts(v *shell.PageContext, d webhook.DeliveryRecord, shown int) []ui.Fact {
	facts := []ui.Fact{{Label: text.State, Cell: stateCell(d)},
		{Label: text.Event, Cell: ui.T(string(d.EventType))}, {Label: text.Address, Cell: ui.CodeCell(d.URL)},
		{Label: text.EventID, Cell: ui.CodeCell(d.EventID.String())},
		{Label: text.DeliveryCreated, Cell: ui.TimeCell(v.At(d.CreatedAt))},
		{Label: text.NextAttempt, Cell: ui.TimeCell(v.At(d.NextAttempt))},
		{Label: text.Finished, Cell: ui.TimeCell(v.At(d.FinishedAt))}}
	if d.WebhookID != 0 {
		facts = append(facts,
			ui.Fact{Label: text.Webhook, Cell: ui.LinkCell(fmt.Sprint(d.WebhookID), webhookPath(v, d))})
	}
	if d.ProblemID != 0 {
		facts = append(facts, ui.Fact{Label: text.ProblemColumn,
			Cell: ui.LinkCell(fmt.Sprintf(text.ProblemN, d.ProblemID), problemPath(v, d))})
	}
	if d.OrderID != 0 {
		facts = append(facts, ui.Fact{Label: text.Subject, Cell: subjectCell(v, d)})
	}
	if shown == webhook.MaxAttemptsRead && d.Attempts > shown {
		facts = append(facts, ui.Fact{Label: text.Attempts,
			Cell: ui.T(fmt.Sprintf(text.NewestAttempts, shown, d.Attempts))})
	}
	if d.Reference != "" {
		facts = append(facts, ui.Fact{Label: text.Reference_, Cell: referenceCell(v, d)})
	}
	return facts
}

// Payload downloads the event body.
func (p Pages) Payload(c *fiber.Ctx, v *shell.PageContext) error {
	d, _, err := p.get(c, v)
	if err != nil {
		return err
	}
	body, err := p.Bodies.EventBody(c.UserContext(), v.Business.ID, d.EventID)
	if err != nil {
		return err
	}
	return ui.File(c, d.EventID.String()+".json", body)
}

// ResendButton returns a button that resends a delivery once, or nil if it cannot be sent now.
func ResendButton(v *shell.PageContext, d webhook.DeliveryRecord) *ui.Button {
	if !d.CanResend() {
		return nil
	}
	button := ui.Button{Label: text.Retry, Action: v.Link("deliveries/" + d.ID.String() + "/retry/"),
		ReasonLabel: text.Why, Key: "r",
		Hidden: []ui.Option{{Label: "seen", Value: formVersion(d)}}}
	if d.Attempts == 0 && (d.State == webhook.Pending || d.HeldReason == webhook.EndpointDown) {
		button.Label = text.SendNow
	}
	switch d.State {
	case webhook.Delivered:
		button.Help = text.RetryDelivered
	case webhook.Pending, webhook.Held:
		button.Help = text.RetryWaiting
	}
	return &button
}

// formVersion identifies the state of a delivery when its form was rendered, so that a double click resends it
// once. Pending and held deliveries share one version: resending them twice has no further effect.
func formVersion(d webhook.DeliveryRecord) string {
	if d.State == webhook.Pending || d.State == webhook.Held {
		return "waiting"
	}
	return fmt.Sprintf("%s %d", d.State, d.Attempts)
}

// Resend resends one delivery.
func (p Pages) Resend(c *fiber.Ctx, v *shell.PageContext) error {
	d, _, err := p.get(c, v)
	if err != nil {
		return err
	}
	if version := shell.Field(c, "seen"); version != "" && version != formVersion(d) {
		return core.Errorf(core.Conflict, text.RetriedAlready)
	}
	if err := p.resend(c, v, []core.ID{d.ID}, v.Change(c, "delivery.retry")); err != nil {
		return err
	}
	return shell.RedirectDone(c, v.Link("deliveries/"+d.ID.String()+"/"), "retried")
}

// resend resends deliveries, all or none.
func (p Pages) resend(c *fiber.Ctx, v *shell.PageContext, ids []core.ID, change access.Change) error {
	err := p.Resender.ResendDeliveries(c.UserContext(), v.Business.ID, ids, change)
	if core.CodeOf(err) == core.Conflict {
		return core.Errorf(core.Conflict, text.NothingResent, err)
	}
	return err
}
