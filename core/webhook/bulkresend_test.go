package webhook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestDecodeBulkResendValidatesItsFilter(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	const one, two = "01937a3e-9c1b-7cc4-8f0a-52d1c6e0b7ab", "01937a3e-9c1c-7d05-a1be-0f6c3b1d9e42"
	c, err := DecodeBulkResend([]byte(`{"ids":["`+two+`","`+one+`","`+strings.ToUpper(two)+`"]}`), now)
	require.NoError(t, err)
	require.Len(t, c.IDs, 2, "each once")
	require.Equal(t, one, c.IDs[0].String(), "sorted")

	end := now.Add(time.Millisecond)
	c, err = DecodeBulkResend([]byte(`{"filter":{}}`), now)
	require.NoError(t, err)
	require.Equal(t, Selector{State: Failed, To: end}, c)
	for _, event := range []string{`"order_placed"`, `"18"`, `18`} {
		c, err = DecodeBulkResend(fmt.Appendf(nil,
			`{"filter":{"state":"delivered","event_type":%s,"webhook_id":7,"order_id":"10001","reference":"r",`+
				`"from":"%d","to":%d.0}}`,
			event, now.Add(-time.Hour).UnixMilli(), now.Add(time.Hour).UnixMilli()), now)
		require.NoError(t, err)
		require.Equal(t, Selector{State: Delivered, EventType: core.OrderPlaced, WebhookID: 7, OrderID: 10001,
			Reference: "r", From: now.Add(-time.Hour), To: end}, c)
	}
	c, err = DecodeBulkResend([]byte(`{"ids":null,"filter":{"from":0,"order_id":null,"event_type":null}}`), now)
	require.NoError(t, err)
	require.Equal(t, Selector{State: Failed, From: time.UnixMilli(0).UTC(), To: end}, c, "null counts as not sent")

	for body, problem := range map[string]string{
		`{}`:                                  "ids or filter is required",
		`{"ids":["` + one + `"],"filter":{}}`: "ids or filter is required",
		`{"ids":[]}`:                          "ids must have 1 to 1000",
		`{"ids":[` + strings.Repeat(`"`+one+`",`, 1000) + `"` + one + `"]}`: "ids must have 1 to 1000",
		`{"ids":["x"]}`:                                        "ids[0] must be the id",
		`{"filter":{"state":"held"}}`:                          "filter.state must be",
		`{"filter":{"event_type":"lunch"}}`:                    "filter.event_type must be",
		`{"filter":{"event_type":17}}`:                         "filter.event_type must be",
		`{"filter":{"webhook_id":0}}`:                          "filter.webhook_id must be",
		`{"filter":{"order_id":0}}`:                            "filter.order_id must be",
		`{"filter":{"order_id":"W-7"}}`:                        "filter.order_id must be",
		`{"filter":{"reference":""}}`:                          "filter.reference must not be empty",
		`{"filter":{"webhookid":7}}`:                           "filter.webhookid is an unknown field",
		`{"filter":{},"order_id":10001}`:                       "order_id is an unknown field",
		`{"filter":{"from":-1}}`:                               "filter.from must be in epoch milliseconds",
		`{"filter":{"from":1795262400}}`:                       "filter.from must be in epoch milliseconds",
		`{"filter":{"to":999999999999}}`:                       "filter.to must be in epoch milliseconds",
		`{"filter":{"from":99999999999999}}`:                   "filter.from must be before filter.to",
		`{"filter":{"from":1763700000000,"to":1763700000000}}`: "filter.from must be before filter.to",
	} {
		_, err := DecodeBulkResend([]byte(body), now)
		require.Equal(t, core.Invalid, core.CodeOf(err), body)
		require.ErrorContains(t, err, problem)
	}
}

func FuzzDecodeBulkResend(f *testing.F) {
	for _, seed := range []string{`{"ids":["01937a3e-9c1b-7cc4-8f0a-52d1c6e0b7ab"]}`, `{"filter":{"from":1,"to":2}}`,
		`{"filter":null}`, `[]`} {
		f.Add([]byte(seed))
	}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := DecodeBulkResend(body, now); err != nil {
			require.Equal(t, core.Invalid, core.CodeOf(err))
		}
	})
}

// fakeResends stores bulk resends, and advances a clock with every chunk.
type fakeResends struct {
	now     time.Time
	chunk   time.Duration
	left    int
	so      ResendResult
	ended   int
	failure string
}

func (r *fakeResends) Now() time.Time                          { return r.now }
func (r *fakeResends) At(time.Time) (<-chan time.Time, func()) { return nil, func() {} }
func (r *fakeResends) EndBulkResend(_ context.Context, _ core.Job, failure string) error {
	r.ended++
	r.failure = failure
	return nil
}

func (r *fakeResends) ResendNext(_ context.Context, _ core.Job, _ Selector, limit int) (ResendResult, bool, error) {
	r.now = r.now.Add(r.chunk)
	n := min(limit, r.left)
	r.left -= n
	r.so.Resent += n
	return r.so, n == limit, nil
}

func TestLongBulkResendRunsInChunks(t *testing.T) {
	job, err := Selector{State: Failed}.Job(7, 4000, time.Now())
	require.NoError(t, err)
	r := &fakeResends{chunk: 20 * time.Second, left: 4200}
	var done, total int
	run := func() error {
		return BulkResend{Resends: r, Clock: r}.Run(context.Background(), job, func(d, t int) { done, total = d, t })
	}
	for range 2 {
		var postponed core.Snooze
		require.ErrorAs(t, run(), &postponed)
		require.Equal(t, r.now, postponed.Until, "it continues at once")
	}
	require.Equal(t, []int{3000, 4000}, []int{done, total})
	require.Zero(t, r.ended)
	require.NoError(t, run())
	require.Equal(t, []int{4200, 4200}, []int{done, total}, "more deliveries failed meanwhile")
	require.Equal(t, 1, r.ended)
	require.NoError(t, BulkResend{Resends: r, Clock: r}.Fail(context.Background(), job, errors.New("broken")))
	require.Equal(t, "broken", r.failure)
}
