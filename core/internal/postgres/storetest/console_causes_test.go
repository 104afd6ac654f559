package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolemenus"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	publishing "github.com/servery-hub/servery/core/publish"
	"github.com/servery-hub/servery/core/webhook"
)

func TestConsoleListsMenuItemsThatPlatformsReject(t *testing.T) {
	p := newPublishHarness(t)
	other := hubtest.Business(t, p.db).ID
	read := consoleview.New(p.db)
	menus := consolemenus.New(p.db)
	p.send("-1",
		`{"items":[{"ref_id":"curry","title":"Other curry","price":2},{"ref_id":"rice","title":"Other rice",`+
			`"price":2}]}`)
	p.clock.Advance(time.Minute)
	work, names := p.claim(me)
	require.Equal(t, []string{"s1/a", "s1/b", "s2/a", "s2/b"}, names)
	for _, w := range work {
		result := p.published(w)
		result.Problems = []publishing.Problem{{Entity: "option", RefID: "curry", Message: "another kind"},
			{Entity: "item", RefID: "cur", Message: "another item"},
			{Entity: "item", RefID: "curry", Message: "photo required"}}
		if w.Platform == "b" {
			result = publishing.Result{Work: w, State: publishing.Failed, Message: "unknown partner key",
				At: p.clock.Now()}
		}
		p.finish(me, result)
	}
	notices, err := read.Notices(t.Context(), []core.BusinessID{p.business, other}, p.clock.Now().Add(-time.Hour))
	require.NoError(t, err)
	require.Equal(t, []console.RejectedMenus{{Business: p.business, Platform: "b", ServedBy: "aggregator-b", Count: 2,
		Message: "unknown partner key"}}, notices.Menus)
	notices, err = read.Notices(t.Context(), []core.BusinessID{other}, p.clock.Now().Add(-time.Hour))
	require.NoError(t, err)
	require.Empty(t, notices.Menus)

	id, err := menus.ItemID(t.Context(), p.business, "curry")
	require.NoError(t, err)
	item, err := menus.Item(t.Context(), p.business, id)
	require.NoError(t, err)
	require.Equal(t, []console.ItemRejection{{Platform: "a", Message: "photo required", Stores: 2}}, item.Rejections)
	_, err = menus.ItemID(t.Context(), other, "curry")
	require.Equal(t, core.NotFound, core.CodeOf(err))
}

func TestFailedDeliveriesAreCountedForADay(t *testing.T) {
	c := newDeliveryHarness(t)
	read, businesses := consoleview.New(c.db), []core.BusinessID{c.business}
	ended := func(created, finished time.Duration, state string) {
		id, at := core.NewID(c.clock.Now().Add(-created)), c.clock.Now().Add(-finished)
		pgtest.Exec(t, c.db,
			`INSERT INTO deliveries (business_id, id, event_id, event_type, webhook_id, url, state, attempts, status,
				finished_at)
			VALUES (?, ?, ?, 'store_creation', ?, '', ?, 6, 500, ?)`, c.business, id, id, c.sub.ID, state, at)
		if state == "failed" {
			pgtest.Exec(t, c.db,
				`INSERT INTO problems AS problem (business_id, server, error_class, status, webhooks, first_seen_at,
					last_seen_at)
				VALUES (?0, 'pos.example', 'status', 500, ARRAY[?1::bigint], ?2, ?2)
				ON CONFLICT (business_id, server, error_class, status) DO UPDATE
					SET last_seen_at = greatest(problem.last_seen_at, excluded.last_seen_at)`,
				c.business, c.sub.ID, at)
		}
	}
	ended(26*time.Hour, 25*time.Hour, "failed")
	ended(time.Hour, time.Hour, "delivered")
	found, err := read.UnhealthyEndpoints(t.Context(), businesses, 10)
	require.NoError(t, err)
	require.Empty(t, found)
	ended(time.Hour, time.Hour, "failed")
	ended(30*time.Hour, 23*time.Hour, "failed") // created before, failed today
	found, err = read.UnhealthyEndpoints(t.Context(), businesses, 10)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, 2, found[0].FailedDeliveries)
	one, err := read.Endpoint(t.Context(), c.business, c.sub.ID)
	require.NoError(t, err)
	require.Equal(t, 2, one.FailedDeliveries)
	figures, err := read.Figures(t.Context(), businesses, c.clock.Now().Add(-24*time.Hour))
	require.NoError(t, err)
	require.Equal(t, 2, figures.FailedDeliveries)
	figures, err = read.Figures(t.Context(), []core.BusinessID{hubtest.Business(t, c.db).ID},
		c.clock.Now().Add(-24*time.Hour))
	require.NoError(t, err)
	require.Zero(t, figures.FailedDeliveries)
}

func TestChangingURLOrHeadersResetsWebhookHealth(t *testing.T) {
	c := newDeliveryHarness(t)
	read, write := consoleview.New(c.db), webhooksdb.New(c.db)
	endpoint := func(ago time.Duration) console.Endpoint {
		var tally console.AttemptCounter
		tally.Count(console.Attempt{Business: c.business, Webhook: c.sub.ID, At: c.clock.Now().Add(-ago),
			Class: "connect", Error: "nothing answers"})
		require.NoError(t, read.AddSums(t.Context(), tally.Take()))
		one, err := read.Endpoint(t.Context(), c.business, c.sub.ID)
		require.NoError(t, err)
		return one
	}
	for name, change := range map[string]struct {
		do    func(*webhook.Subscription)
		reset bool
	}{
		"another address": {func(s *webhook.Subscription) { s.URL = "https://pos.example/moved" }, true},
		"other headers":   {func(s *webhook.Subscription) { s.Headers = map[string]string{"X-Token": "right"} }, true},
		"other units":     {func(s *webhook.Subscription) { s.Units = webhook.Minutes }, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.False(t, endpoint(0).Health.FailingSince.IsZero())
			c.clock.Advance(time.Hour)
			require.NoError(t, write.Change(t.Context(), c.business, "key:pos", c.sub.ID,
				func(s *webhook.Subscription) error {
					change.do(s)
					return nil
				}))
			one, err := read.Endpoint(t.Context(), c.business, c.sub.ID)
			require.NoError(t, err)
			require.Equal(t, change.reset, one.Health.FailingSince.IsZero())
			if change.reset {
				require.Equal(t, console.Health{}, one.Health)
				require.Equal(t, console.Health{}, endpoint(time.Second).Health,
					"an attempt that started before the change does not count")
			}
			require.False(t, endpoint(0).Health.FailingSince.IsZero())
		})
	}
}

// Attempts are counted when they end, and replicas store their counts apart.
func TestHealthFollowsTheLatestStartedAttempt(t *testing.T) {
	for name, order := range map[string][][]int{
		"the failures first": {{2, 5}, {3}}, "the success first": {{3}, {2, 5}},
	} {
		c := newDeliveryHarness(t)
		read := consoleview.New(c.db)
		at := func(second int) time.Time { return c.clock.Now().Add(time.Duration(second) * time.Second) }
		for _, ended := range order {
			var counter console.AttemptCounter
			for _, second := range ended {
				a := console.Attempt{Business: c.business, Webhook: c.sub.ID, At: at(second)}
				if second != 3 {
					a.Class, a.Error = "status", "503"
				}
				counter.Count(a)
			}
			require.NoError(t, read.AddSums(t.Context(), counter.Take()))
		}
		one, err := read.Endpoint(t.Context(), c.business, c.sub.ID)
		require.NoError(t, err)
		require.True(t, at(5).Equal(one.Health.FailingSince), name)
	}
}

func TestHeaderNamesAndTheirChangeAreShown(t *testing.T) {
	c := newDeliveryHarness(t)
	change := func(do func(*webhook.Subscription)) console.Endpoint {
		c.clock.Advance(time.Hour)
		require.NoError(t, webhooksdb.New(c.db).Change(t.Context(), c.business, "key:pos", c.sub.ID,
			func(s *webhook.Subscription) error {
				do(s)
				s.UpdatedAt = c.clock.Now()
				return nil
			}))
		one, err := consoleview.New(c.db).Endpoint(t.Context(), c.business, c.sub.ID)
		require.NoError(t, err)
		return one
	}
	other := change(func(s *webhook.Subscription) { s.Units = webhook.Minutes })
	require.True(t, other.HeadersChangedAt.IsZero())
	one := change(func(s *webhook.Subscription) { s.Headers = map[string]string{"X-B": "2", "X-A": "1"} })
	require.Equal(t, []string{"X-A", "X-B"}, one.HeaderNames)
	require.WithinDuration(t, c.clock.Now(), one.HeadersChangedAt, time.Millisecond)
	changed := one.HeadersChangedAt
	one = change(func(s *webhook.Subscription) { s.Units = webhook.Seconds })
	require.Equal(t, changed, one.HeadersChangedAt, "another change keeps the time")
	one = change(func(s *webhook.Subscription) { s.Headers = nil })
	require.Empty(t, one.HeaderNames)
	require.True(t, one.HeadersChangedAt.After(changed))
}

func TestFailingWebhookShowsLastSuccessOfItsServer(t *testing.T) {
	c := newDeliveryHarness(t)
	read, now := consoleview.New(c.db), c.clock.Now().UTC().Truncate(time.Microsecond)
	subscribe := func(business core.BusinessID, url string) int64 {
		return hubtest.Subscribe(t, c.db, business, core.OrderPlaced, url).ID
	}
	neighbour, otherPort := subscribe(c.business, "https://pos.example/orders"),
		subscribe(c.business, "https://pos.example:8443/")
	otherBusiness := hubtest.Business(t, c.db).ID
	otherBusinessHook := subscribe(otherBusiness, "https://pos.example/orders")
	accepted := func(business core.BusinessID, id int64, at time.Time) console.Attempt {
		return console.Attempt{Business: business, Webhook: id, At: at}
	}
	var tally console.AttemptCounter
	tally.Count(console.Attempt{Business: c.business, Webhook: c.sub.ID, At: now, Class: "connect"})
	tally.Count(accepted(c.business, neighbour, now.Add(time.Minute)))
	tally.Count(accepted(c.business, otherPort, now.Add(time.Hour)))
	tally.Count(accepted(otherBusiness, otherBusinessHook, now.Add(time.Hour)))
	require.NoError(t, read.AddSums(t.Context(), tally.Take()))
	for id, want := range map[int64]time.Time{c.sub.ID: now.Add(time.Minute), neighbour: {}} {
		one, err := read.Endpoint(t.Context(), c.business, id)
		require.NoError(t, err)
		require.WithinDuration(t, want, one.ServerSucceededAt, 0)
	}
}

func TestConsoleListsStoresClosedOnTheirPlatforms(t *testing.T) {
	p := newPublishHarness(t)
	other := hubtest.Business(t, p.db).ID
	read := consoleview.New(p.db)
	menus := consolemenus.New(p.db)
	for _, ref := range []string{"s3", "s4", "s5"} {
		p.store(ref)
	}
	pgtest.Exec(t, p.db,
		`UPDATE stores SET included_platforms = '{a}', excluded_platforms = NULL WHERE business_id = ?
			AND ref_id = 's3'`, p.business)
	pgtest.Exec(t, p.db, `UPDATE stores SET active = false WHERE business_id = ? AND ref_id = 's4'`, p.business)
	pgtest.Exec(t, p.db, `UPDATE stores SET ordering_enabled = false WHERE business_id = ? AND ref_id = 's5'`,
		p.business)
	at := p.clock.Now()
	for i, row := range []struct {
		ref, platform string
		open          bool
	}{{"s1", "b", false}, {"s2", "a", false}, {"s2", "b", false}, {"s1", "a", true}, {"s3", "b", false},
		{"s4", "a", false}, {"s5", "a", false}} {
		pgtest.Exec(t, p.db,
			`INSERT INTO store_switches (business_id, store_id, platform, open, source, reason, actor, reference, at)
			SELECT business_id, id, ?, ?, 'api', '', 'key:pos', ?, ? FROM stores WHERE business_id = ? AND ref_id = ?`,
			row.platform, row.open, core.NewID(at), at.Add(time.Duration(i)*time.Minute), p.business, row.ref)
	}
	notices, err := read.Notices(t.Context(), []core.BusinessID{p.business, other}, at.Add(-time.Hour))
	require.NoError(t, err)
	require.Len(t, notices.Closed, 1)
	closure := notices.Closed[0]
	require.Equal(t, []any{p.business, 2, "b", "key:pos", at.Add(2 * time.Minute).UnixMilli()},
		[]any{closure.Business, closure.Count, closure.Platform, closure.Actor, closure.Since.UnixMilli()})

	closed := map[string][]string{}
	list, err := menus.ListStores(t.Context(), p.business, console.StoreFilter{Limit: 9})
	require.NoError(t, err)
	for _, s := range list {
		closed[s.RefID] = s.ClosedOn
		if s.ID == closure.StoreID {
			require.Equal(t, "s2", s.RefID, "the last that was closed")
		}
	}
	require.Equal(t, map[string][]string{"s1": {"b"}, "s2": {"a", "b"}, "s3": {"b"}, "s4": {"a"}, "s5": {"a"}}, closed)
}

func TestPublishedMenuShowsItsPendingChange(t *testing.T) {
	p := newPublishHarness(t)
	read := consolemenus.New(p.db)
	p.send("-1", `{"items":[{"ref_id":"curry","title":"Curry","price":3}]}`)
	p.clock.Advance(time.Minute)
	work, _ := p.claim(me)
	p.finish(me, p.published(work[0]))
	p.send("-1", `{"items":[{"ref_id":"curry","title":"Curry","price":4}]}`)
	p.clock.Advance(time.Minute)
	again, _ := p.claim(other)
	for _, w := range again {
		p.finish(other, publishing.Result{Work: w, State: publishing.Waiting, Uncounted: true,
			Message: "the plugin is not running", RetryAt: p.clock.Now().Add(time.Hour), At: p.clock.Now()})
	}
	all, err := read.StorePublications(t.Context(), p.business, []int64{work[0].StoreID})
	require.NoError(t, err)
	publication := all[work[0].StoreID][work[0].Platform]
	require.Equal(t, publishing.Published, publication.State)
	require.Equal(t, "the plugin is not running", publication.Note)
	require.False(t, publication.DueAt.IsZero() || publication.PublishedAt.IsZero())
}

func TestFlushIgnoresAttemptsFromBeforeAURLChange(t *testing.T) {
	c := newDeliveryHarness(t)
	read, write := consoleview.New(c.db), webhooksdb.New(c.db)
	var tally console.AttemptCounter
	old := console.Attempt{Business: c.business, Webhook: c.sub.ID, At: c.clock.Now()}
	tally.Count(old)
	old.Class, old.Error = "status", "500"
	tally.Count(old)
	c.clock.Advance(time.Second)
	require.NoError(t, write.Change(t.Context(), c.business, "key:pos", c.sub.ID, func(s *webhook.Subscription) error {
		s.URL = "https://pos.example/moved"
		return nil
	}))
	c.clock.Advance(time.Second)
	tally.Count(console.Attempt{Business: c.business, Webhook: c.sub.ID, At: c.clock.Now(), Class: "connect",
		Error: "nothing answers"})
	require.NoError(t, read.AddSums(t.Context(), tally.Take()))
	one, err := read.Endpoint(t.Context(), c.business, c.sub.ID)
	require.NoError(t, err)
	require.Zero(t, one.Health.SucceededAt)
	require.Equal(t, c.clock.Now(), one.Health.FailedAt.UTC())
	require.Equal(t, c.clock.Now(), one.Health.FailingSince.UTC())
	require.Equal(t, "nothing answers", one.Health.Error)
}

func TestConsoleShowsSinceWhenAWebhookIsPaused(t *testing.T) {
	c := newDeliveryHarness(t)
	read, store := consoleview.New(c.db), webhooksdb.New(c.db)
	first := c.clock.Now()
	endpoint := func() console.Endpoint {
		one, err := read.Endpoint(t.Context(), c.business, c.sub.ID)
		require.NoError(t, err)
		return one
	}
	change := func(decide func(*webhook.Subscription)) {
		require.NoError(t, store.Change(t.Context(), c.business, "test", c.sub.ID,
			func(s *webhook.Subscription) error {
				s.UpdatedAt = c.clock.Now()
				decide(s)
				return nil
			}))
	}
	require.Zero(t, endpoint().DisabledAt)
	change(func(s *webhook.Subscription) { s.Active = false })
	c.clock.Advance(time.Hour)
	change(func(s *webhook.Subscription) { s.Headers = map[string]string{"X-Key": "1"} })
	require.WithinDuration(t, first, endpoint().DisabledAt, time.Millisecond)
	change(func(s *webhook.Subscription) { s.Active = true })
	require.Zero(t, endpoint().DisabledAt)

	require.False(t, endpoint().OthersActive)
	other := hubtest.Subscribe(t, c.db, c.business, c.sub.EventType, "https://pos.example/second")
	require.True(t, endpoint().OthersActive)
	pgtest.Exec(t, c.db, `UPDATE webhooks SET active = false WHERE id = ?`, other.ID)
	require.False(t, endpoint().OthersActive)
	hubtest.Subscribe(t, c.db, c.business, core.RiderStatusUpdate, "https://pos.example/second")
	require.False(t, endpoint().OthersActive)
}
