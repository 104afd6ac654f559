package storetest

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"

	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/menu"
)

func TestMenuSourceEvictsTheLeastRecentlyUsedMenu(t *testing.T) {
	p := newPublishHarness(t)
	source := menus.NewMenuSource(p.db)
	statements := pgtest.Statements(p.db)
	read := func(p *publishHarness, store string) int {
		id, before := p.storeID(store), statements()
		_, err := source.Read(t.Context(), p.business, id, "a")
		require.NoError(t, err)
		return statements() - before
	}
	fresh := read(p, "s1")
	cached := read(p, "s1")
	require.Less(t, cached, fresh)
	for range 5 {
		other := &publishHarness{menuHarness: newMenuHarness(t, p.db, "US")}
		pgtest.Exec(t, p.db, `INSERT INTO platforms (business_id, name, served_by) VALUES (?, 'a', 'aggregator-a')`,
			other.business)
		other.store("s")
		read(other, "s")
		require.Equal(t, cached, read(p, "s1"), "a menu that is published often stays cached")
	}
	pgtest.Exec(t, p.db, `DELETE FROM cache_epochs`)
	require.Equal(t, fresh, read(p, "s1"), "a server that lost transactions may use the version again")
}

func TestMenuSourceReadsALargeMenu(t *testing.T) {
	p := newPublishHarness(t)
	pgtest.Exec(t, p.db, `UPDATE catalogue_entities
		SET record = jsonb_set(record::jsonb, '{description}', to_jsonb(repeat('x', 17 << 20)))::json
		WHERE business_id = ?0 AND name = 'rice'`, p.business)
	s, err := menus.NewMenuSource(p.db).Read(t.Context(), p.business, p.storeID("s2"), "a")
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(s.Menu.Items, func(item menu.Item) bool {
		return item.Description != nil && len(*item.Description) == 17<<20
	}))
}

// statementBlocker blocks the first statement that contains a text.
type statementBlocker struct {
	text    string
	blocked atomic.Bool
	reached chan struct{}
	goOn    chan struct{}
}

func (b *statementBlocker) BeforeQuery(ctx context.Context, event *bun.QueryEvent) context.Context {
	if strings.Contains(event.Query, b.text) && b.blocked.CompareAndSwap(false, true) {
		close(b.reached)
		<-b.goOn
	}
	return ctx
}

func (b *statementBlocker) AfterQuery(context.Context, *bun.QueryEvent) {}

func TestReadingAMenuBlocksNoOtherBusiness(t *testing.T) {
	p := newPublishHarness(t)
	other := newPublishHarnessIn(t, p.db, p.clock)
	source := menus.NewMenuSource(p.db)
	b := &statementBlocker{text: "g.day_slots", reached: make(chan struct{}),
		goOn: make(chan struct{})}
	p.db.Bun().AddQueryHook(b)
	read := func(p *publishHarness, store int64) chan error {
		ended := make(chan error, 1)
		go func() {
			_, err := source.Read(context.Background(), p.business, store, "a")
			ended <- err
		}()
		return ended
	}
	one, two, ofOther := p.storeID("s1"), p.storeID("s2"), other.storeID("s1")
	first := read(p, one)
	requireClosed(t, "the menu is being read", b.reached)
	second := read(p, two)
	select {
	case err := <-read(other, ofOther):
		require.NoError(t, err)
	case <-time.After(30 * time.Second):
		t.Error("it waits for the menu of another business")
	}
	eventually(t, "the same menu is awaited in no transaction", func() bool {
		var n int
		pgtest.Row(t, p.db, &n, `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND state = 'idle in transaction'`)
		return n == 1
	})
	close(b.goOn)
	require.NoError(t, <-first)
	require.NoError(t, <-second)
}
