package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/webhook"
)

// pause pauses the webhook of the harness in the console.
func (c *deliveryHarness) pause() {
	c.t.Helper()
	pause := func() error {
		return webhooksdb.New(c.db).SwitchWebhook(c.t.Context(), c.business, c.sub.ID, false,
			access.Change{Business: c.business, Actor: "user:sam", Action: "webhook.pause"})
	}
	require.NoError(c.t, pause())
	require.EqualError(c.t, pause(), "nothing was done, because the webhook has changed: reload the page")
}

func TestResendNamesTheDeliveryThatCannotBeSent(t *testing.T) {
	c := newDeliveryHarness(t)
	c.fail(1)
	c.publish(1)
	c.pause()
	list, err := c.queue.List(t.Context(), c.business, webhook.Filter{Limit: 9})
	require.NoError(t, err)
	require.Len(t, list, 2)
	resend := func(d webhook.DeliveryRecord) error {
		return c.queue.ResendDeliveries(t.Context(), c.business, []core.ID{d.ID},
			access.Change{Business: c.business, Actor: "user:sam", Action: "delivery.retry"})
	}
	for _, d := range list {
		require.False(t, d.CanResend(), d.State)
		require.EqualError(t, resend(d), "delivery "+d.ID.String()+
			" cannot be sent now, because its webhook is paused or disabled: resume the webhook first")
	}
	const why = "the server responded with 410 Gone"
	pgtest.Exec(t, c.db, `UPDATE webhooks SET disabled_reason = ? WHERE id = ?`, why, c.sub.ID)
	held := c.held()
	require.Equal(t, []string{why, "the webhook is disabled: " + why},
		[]string{held[0].DisabledReason, held[0].HeldMessage})
}

func TestUnroutedEventsNameTheWebhookDisabledLast(t *testing.T) {
	c := newDeliveryHarness(t)
	earlier := c.sub
	c.sub = hubtest.Subscribe(t, c.db, c.business, core.StoreCreation, "https://pos.example/second")
	c.pause()
	c.sub = earlier
	c.clock.Advance(time.Second)
	c.pause()
	const why = "the server responded with 410 Gone"
	pgtest.Exec(t, c.db, `UPDATE webhooks SET disabled_reason = ? WHERE id = ?`, why, c.sub.ID)
	c.publish(1)
	require.NoError(t, outbox.StoreUnrouted(t.Context(), c.db))
	unrouted := func() []any {
		found, err := consoleview.New(c.db).Notices(t.Context(), []core.BusinessID{c.business},
			c.clock.Now().Add(-time.Second))
		require.NoError(t, err)
		require.Len(t, found.Unrouted, 1)
		return []any{found.Unrouted[0].Webhook, found.Unrouted[0].DisabledReason}
	}
	require.Equal(t, []any{c.sub.ID, why}, unrouted())
	pgtest.Exec(t, c.db, `UPDATE webhooks SET updated_at = updated_at + interval '1 hour' WHERE id <> ?`, c.sub.ID)
	require.NotEqual(t, c.sub.ID, unrouted()[0])
}

func TestUnchangedWebhookFormKeepsTheCircuit(t *testing.T) {
	c := newDeliveryHarness(t)
	c.openCircuit()
	change := func(input webhook.Input) {
		require.NoError(t, webhooksdb.New(c.db).ChangeWebhook(t.Context(), c.business, c.sub.ID, input,
			access.Change{Business: c.business, Actor: "user:sam", Action: "webhook.update", Why: "why not"}))
	}
	entries := func() []console.Entry {
		list, err := consolelists.New(c.db).Audit(t.Context(), c.business, console.EntryFilter{Limit: 9,
			Object: fmt.Sprintf("webhook/%d", c.sub.ID)})
		require.NoError(t, err)
		return list
	}
	before := len(entries())
	same, err := webhook.EventHeaderInput("", string(webhook.EventName))
	require.NoError(t, err)
	change(same)
	require.Len(t, entries(), before)
	require.NotEmpty(t, c.held(), "the circuit is still open")
	change(webhook.Input{Headers: map[string]string{"X-Login": "another"}})
	require.Len(t, entries(), before+1)
	require.Contains(t, string(entries()[0].Detail), `"header_values": "changed"`)
}

func TestTestEventsAreMarkedAsSuch(t *testing.T) {
	c := newDeliveryHarness(t)
	tester := webhook.Tester{Subscriptions: webhooksdb.New(c.db), Publisher: outbox.NewPublisher(c.db), Clock: c.clock,
		Sample: func(core.EventType) []byte { return []byte(`{}`) }}
	c.publish(1)
	reference, err := tester.Test(t.Context(), c.business, c.sub.ID)
	require.NoError(t, err)
	list, err := c.queue.List(t.Context(), c.business, webhook.Filter{Limit: 9})
	require.NoError(t, err)
	require.Len(t, list, 2)
	for _, d := range list {
		require.Equal(t, d.Reference == reference.String(), d.Test)
	}
}

func TestOutdatedPluginPageSaysThatNothingWasDone(t *testing.T) {
	c := newDeliveryHarness(t)
	pgtest.Exec(t, c.db, `INSERT INTO plugins (id) VALUES ('tasty')`)
	disable := func() error {
		return consoleview.New(c.db).RequestPluginAction(t.Context(), "tasty", console.DisablePlugin,
			access.Change{Actor: "user:sam", Action: "plugin.disable"})
	}
	require.NoError(t, disable())
	require.EqualError(t, disable(), "nothing was done, because the plugin has changed: reload the page")
}
