package storetest

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/outcome"
	publishing "github.com/servery-hub/servery/core/publish"
)

// sendMenu changes the menu of s1, and finishes its publication on platform a with an exchange.
func (p *publishHarness) sendMenu(price string, change func(*publishing.Result)) publishing.Result {
	p.t.Helper()
	p.send("s1", `{"items":[{"ref_id":"curry","price":`+price+`}]}`)
	p.clock.Advance(2 * time.Second)
	work, _ := p.claim(me)
	var sent publishing.Result
	for _, w := range work {
		r := p.published(w)
		if w.Platform == "a" {
			r.CallID = core.NewID(p.clock.Now())
			r.Exchange = &publishing.Exchange{At: p.clock.Now(), Body: []byte(`{"price":` + price + `}`), Status: 200,
				Response: []byte("ok")}
			change(&r)
			sent = r
		}
		p.finish(me, r)
	}
	return sent
}

func (p *publishHarness) lastSent() (publishing.LastSent, error) {
	var id int64
	pgtest.Row(p.t, p.db, &id, `SELECT id FROM stores WHERE business_id = ? AND ref_id = 's1'`, p.business)
	return p.queue.LastSent(p.t.Context(), p.business, id, "a")
}

func TestLastSentMenuIsKeptWithItsResponse(t *testing.T) {
	p := newPublishHarness(t)
	_, err := p.lastSent()
	require.Equal(t, core.NotFound, core.CodeOf(err), "settling sent nothing")
	first := p.sendMenu("3", func(*publishing.Result) {})
	got, err := p.lastSent()
	require.NoError(t, err)
	require.Equal(t, []any{`{"price":3}`, 11, 200, "ok", publishing.Published, first.CallID, first.Version},
		[]any{string(got.Body), got.Size, got.Status, string(got.Response), got.State, got.CallID, got.Version})

	second := p.sendMenu("4", func(r *publishing.Result) {
		r.State, r.Message, r.Exchange.Status = publishing.Failed, "no photo", 422
		r.Exchange.Body = bytes.Repeat([]byte("x"), 5<<20)
		r.Exchange.Response = bytes.Repeat([]byte("y"), 9<<10)
	})
	got, err = p.lastSent()
	require.NoError(t, err)
	require.Nil(t, got.Body, "too large")
	require.Equal(t, []any{5 << 20, 422, 4 << 10, publishing.Failed, "no photo", second.CallID},
		[]any{got.Size, got.Status, len(got.Response), got.State, got.Message, got.CallID})

	p.sendMenu("5", func(r *publishing.Result) { r.Exchange = nil })
	again, err := p.lastSent()
	require.NoError(t, err)
	require.Equal(t, got, again, "nothing was sent")
}

func TestLaterOutcomeIsThatOfTheSentMenu(t *testing.T) {
	p := newPublishHarness(t)
	sent := p.sendMenu("3", func(r *publishing.Result) {
		deadline := p.clock.Now().Add(time.Hour)
		r.State, r.RetryAt = publishing.Pending, deadline
		r.Sent = &publishing.SentMenu{Task: "t-1", CallID: r.CallID, Since: p.clock.Now(), Deadline: deadline,
			Version: r.Version, Attempts: 1, Reference: r.Reference}
	})
	got, err := p.lastSent()
	require.NoError(t, err)
	require.Equal(t, publishing.Pending, got.State)
	_, err = p.queue.Settle(t.Context(), outcome.Task{Business: p.business, Platform: "a", Reference: "t-1",
		Kind: outcome.Menu, StoreID: sent.StoreID, CallID: sent.CallID},
		outcome.Report{State: outcome.Failed, Message: "no photo"})
	require.NoError(t, err)
	got, err = p.lastSent()
	require.NoError(t, err)
	require.Equal(t, publishing.Failed, got.State)
	require.Contains(t, got.Message, "no photo")
}
