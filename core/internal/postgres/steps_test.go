package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	"github.com/servery-hub/servery/core/internal/postgres/seal"
	"github.com/servery-hub/servery/core/order"
)

func TestOnlyTheLeaseOwnerStoresSteps(t *testing.T) {
	d := newRiderHarness(t)
	one, other := core.NewID(d.clock.Now()), core.NewID(d.clock.Now())
	require.NoError(t, d.send(d.order("b", ""), order.Assigned, order.Rider{Name: "Ann", Phone: "1"}))
	first := d.claim(one)
	require.Len(t, first, 1)
	require.Nil(t, first[0].Steps)
	save := func(c int, steps string) bool {
		t.Helper()
		call := first[0]
		if c == 2 {
			call.Owner = other
		}
		held, err := d.calls.SaveSteps(t.Context(), call, []byte(steps))
		require.NoError(t, err)
		return held
	}
	require.True(t, save(1, `{"a":"secret-value"}`))
	require.False(t, save(2, `{"b":1}`), "another replica has no lease")
	var sealed []byte
	require.NoError(t, d.db.Bun().NewRaw(`SELECT steps FROM call_queue WHERE steps IS NOT NULL`).Scan(t.Context(),
		&sealed))
	require.NotContains(t, string(sealed), "secret-value")

	d.clock.Advance(21 * time.Second) // the replica has crashed
	second := d.claim(other)
	require.Len(t, second, 1)
	require.Equal(t, first[0].ID, second[0].ID)
	require.JSONEq(t, `{"a":"secret-value"}`, string(second[0].Steps))
	require.False(t, save(1, `{"c":1}`), "the lease has ended")
	require.False(t, save(2, `{"c":1}`), "the same owner has a new lease")

	d.finish(other, d.retried(second[0], time.Second))
	d.clock.Advance(2 * time.Second)
	third := d.claim(one)
	require.JSONEq(t, `{"a":"secret-value"}`, string(third[0].Steps), "a retry has the steps")

	key, err := seal.New(newKey)
	require.NoError(t, err)
	d.db.UseSealer(key)
	d.clock.Advance(21 * time.Second)
	require.Nil(t, d.claim(one)[0].Steps, "without their key the call begins again")
}

func TestStepsOfAnEndedCallAreDeleted(t *testing.T) {
	d := newRiderHarness(t)
	id := d.order("b", "")
	require.NoError(t, d.send(id, order.Assigned, order.Rider{Name: "Ann", Phone: "1"}))
	require.NoError(t, d.send(id, order.AtStore, order.Rider{Name: "Ann", Phone: "1"}))
	owner := core.NewID(d.clock.Now())
	call := d.claim(owner)[0]
	held, err := d.calls.SaveSteps(t.Context(), call, []byte(`{}`))
	require.NoError(t, err)
	require.True(t, held)
	d.finish(owner, d.done(call))
	d.clock.Advance(time.Second)
	next := d.claim(owner)
	require.Len(t, next, 1)
	require.NotEqual(t, call.ID, next[0].ID)
	require.Nil(t, next[0].Steps)
}

func TestStepsOfMenusFollowTheirLease(t *testing.T) {
	p := newPublishHarness(t)
	p.send("s1", `{"items":[{"ref_id":"curry","price":2}]}`)
	p.clock.Advance(time.Minute)
	work, _ := p.claim(me)
	require.NotEmpty(t, work)
	held, err := p.queue.SaveSteps(t.Context(), work[0], []byte(`{"a":"secret-value"}`))
	require.NoError(t, err)
	require.True(t, held)
	stolen := work[0]
	stolen.Owner = core.NewID(p.clock.Now())
	held, err = p.queue.SaveSteps(t.Context(), stolen, []byte(`{}`))
	require.NoError(t, err)
	require.False(t, held)

	sealed, err := schema.CountSealed(t.Context(), p.db)
	require.NoError(t, err)
	for _, column := range sealed {
		require.Zero(t, column.Unreadable, column.Column)
		if column.Column == "publications.steps" {
			require.Len(t, column.Keys, 1, "key rotation finds them")
		}
	}
	p.clock.Advance(2 * time.Minute) // the lease ends
	again, _ := p.claim(me)
	require.JSONEq(t, `{"a":"secret-value"}`, string(again[0].Steps))
	p.finish(me, p.published(again[0]))
	n := 0
	require.NoError(t, p.db.Bun().NewRaw(`SELECT count(*) FROM publications WHERE steps IS NOT NULL`).Scan(t.Context(),
		&n))
	require.Zero(t, n)
}
