package webhooks

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/webhook"
)

// Tester sends test events.
type Tester interface {
	Test(ctx context.Context, business core.BusinessID, id int64) (reference core.ID, err error)
}

// Rotator rotates signing secrets.
type Rotator interface {
	Rotate(ctx context.Context, business core.BusinessID, id int64, actor, why string) (webhook.Subscription, error)
}

// buttons returns the actions of a webhook.
func buttons(v *shell.PageContext, e console.Endpoint) []ui.Button {
	here := v.Link(fmt.Sprintf("webhooks/%d/", e.ID))
	rotate := ui.Button{Label: text.RotateSecret, Action: here + "rotate/", ReasonLabel: text.Why,
		Help: text.RotateSecretSay, Hidden: []ui.Option{{Label: "seen", Value: secretVersion(e)}}}
	if until := previousSecretUntil(v, e); !until.IsZero() {
		rotate.Help = fmt.Sprintf(text.RotateSecretTwice, v.At(until).Exact())
	}
	header := headerButton(e, here)
	pause := fmt.Sprintf(text.PauseSay, cause.CappedCount(e.Waiting+e.Held, text.OneWaitsPaused, text.WaitPaused_))
	if e.EventType == core.OrderPlaced && !e.OthersActive {
		pause += " " + text.PauseOrders
	}
	if !e.Active {
		return []ui.Button{{Label: text.Resume, Action: here + "resume/", ReasonLabel: text.Why,
			Help: fmt.Sprintf(text.ResumeSay, cause.CappedCount(e.Held, text.OneDelivery, text.Deliveries_))}, rotate,
			header}
	}
	return []ui.Button{{Label: text.SendTest, Action: here + "test/", ReasonLabel: text.Why, Help: text.SendTestSay},
		{Label: text.Pause, Action: here + "pause/", ReasonLabel: text.Why,
			Help: pause}, rotate, header}
}

// eventForms are the values of the header with the event type.
var eventForms = []ui.Option{{Value: string(webhook.EventName), Label: text.EventFormName},
	{Value: string(webhook.EventNumber), Label: text.EventFormNumber}}

// headerButton returns the button that sets the header with the event type.
func headerButton(e console.Endpoint, here string) ui.Button {
	forms := eventForms
	if e.EventType.Number() == 0 {
		forms = eventForms[:1]
	}
	return ui.Button{Label: text.SetEventHeader, Action: here + "event-header/", ReasonLabel: text.Why,
		Help: text.SetEventHeaderSay, Fields: []ui.Filter{
			{Name: "name", Label: text.EventHeaderName, Value: e.EventHeader, Hint: "X-Hook-Event"},
			{Name: "value", Label: text.EventHeaderValue, Value: e.EventValue, Options: forms}}}
}

// eventHeader returns the header with the event type, as it is sent.
func eventHeader(e console.Endpoint) ui.Cell {
	if e.EventHeader == "" {
		return ui.T(text.NoneSet)
	}
	header := webhook.EventHeader{Name: e.EventHeader, Value: webhook.EventValue(e.EventValue)}
	return ui.CodeCell(e.EventHeader + ": " + header.ValueFor(e.EventType))
}

// SetEventHeader sets or removes the header with the event type.
func (p Pages) SetEventHeader(c *fiber.Ctx, v *shell.PageContext) error {
	number, err := id(c)
	if err != nil {
		return err
	}
	input, err := webhook.EventHeaderInput(strings.TrimSpace(shell.Field(c, "name")), shell.Field(c, "value"))
	if err == nil {
		err = p.Updater.ChangeWebhook(c.UserContext(), v.Business.ID, number, input, v.Change(c, "webhook.update"))
	}
	here := v.Link(fmt.Sprintf("webhooks/%d/", number))
	if err != nil {
		return v.Redisplay(c, err, here, p.One)
	}
	return shell.RedirectDone(c, here, "headed")
}

// previousSecretUntil returns until when the previous secret also signs, or zero if it does not.
func previousSecretUntil(v *shell.PageContext, e console.Endpoint) time.Time {
	if e.OldSecretUntil.After(v.Now) {
		return e.OldSecretUntil
	}
	return time.Time{}
}

// secretVersion returns a text that differs after a rotation, so that of two concurrent rotations one fails.
func secretVersion(e console.Endpoint) string { return fmt.Sprint(e.OldSecretUntil.UnixMicro()) }

// Pause disables a webhook.
func (p Pages) Pause(c *fiber.Ctx, v *shell.PageContext) error { return p.setActive(c, v, false) }

// Resume enables a webhook. Its held deliveries are then sent.
func (p Pages) Resume(c *fiber.Ctx, v *shell.PageContext) error { return p.setActive(c, v, true) }

func (p Pages) setActive(c *fiber.Ctx, v *shell.PageContext, on bool) error {
	number, err := id(c)
	if err != nil {
		return err
	}
	action, done := "webhook.pause", "paused"
	if on {
		action, done = "webhook.resume", "resumed"
	}
	if err := p.Updater.SwitchWebhook(c.UserContext(), v.Business.ID, number, on, v.Change(c, action)); err != nil {
		return err
	}
	return shell.RedirectDone(c, v.Link(fmt.Sprintf("webhooks/%d/", number)), done)
}

// Test sends a test event to the webhook, and redirects to its delivery.
func (p Pages) Test(c *fiber.Ctx, v *shell.PageContext) error {
	number, err := id(c)
	if err != nil {
		return err
	}
	reference, err := p.Tester.Test(c.UserContext(), v.Business.ID, number)
	if err != nil {
		return err
	}
	change := v.Change(c, "webhook.test")
	change.Object, change.After = fmt.Sprintf("webhook/%d", number), map[string]any{"reference": reference.String()}
	if err := p.Recorder.Record(c.UserContext(), change); err != nil {
		return err
	}
	sent, err := p.Deliveries.List(c.UserContext(), v.Business.ID,
		webhook.Filter{Reference: reference.String(), Limit: 1})
	if err != nil {
		return err
	}
	if len(sent) == 0 { // the webhook was just disabled
		return shell.RedirectDone(c, v.Link(fmt.Sprintf("webhooks/%d/", number)), "")
	}
	return shell.RedirectDone(c, v.Link("deliveries/"+sent[0].ID.String()+"/"), "tested")
}

// Rotate creates another secret of a webhook and shows it once.
func (p Pages) Rotate(c *fiber.Ctx, v *shell.PageContext) error {
	number, err := id(c)
	if err != nil {
		return err
	}
	e, err := p.Webhooks.Endpoint(c.UserContext(), v.Business.ID, number)
	if err != nil {
		return err
	}
	if shell.Field(c, "seen") != secretVersion(e) {
		return core.Errorf(core.Conflict, text.RotatedAlready)
	}
	sub, err := p.Rotator.Rotate(c.UserContext(), v.Business.ID, number, v.User.Actor(), shell.Field(c, "why"))
	if err != nil {
		return err
	}
	return v.Show(c, shell.Head{Title: text.NewSecret, Note: fmt.Sprintf(text.WebhookTitle, number),
		Parent: ui.Link{Href: v.Link(fmt.Sprintf("webhooks/%d/", number)), Label: string(e.EventType)},
		Causes: []ui.Cause{{State: ui.Warn, Text: fmt.Sprintf(text.NewSecretText, v.At(sub.OldSecretUntil).Exact())}}},
		ui.Code(text.SigningSecret, sub.Secret))
}
