package webhook

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
)

func TestDecodeRetryRequestLimitsTheTimeRange(t *testing.T) {
	zone, err := time.LoadLocation("America/Los_Angeles")
	require.NoError(t, err)
	now := time.Date(2026, 3, 8, 15, 0, 0, 0, zone) // summer time began on this day: its midnight is UTC-8
	midnight := time.Date(2026, 3, 8, 8, 0, 0, 0, time.UTC)
	ms := func(at time.Time) int64 { return at.UnixMilli() }
	body := func(event string, from, to time.Time) string {
		return fmt.Sprintf(`{"event_type":%s,"start_time":%d,"end_time":%d}`, event, ms(from), ms(to))
	}
	noon := midnight.Add(12 * time.Hour)
	for name, row := range map[string]struct {
		body    string
		problem string // "": none
		from    time.Time
		clipped bool
	}{
		"a window within the day":            {body: body("18", noon, now), from: noon},
		"the id as text":                     {body: body(`"18"`, noon, now), from: noon},
		"from the very beginning of the day": {body: body("18", midnight, now), from: midnight},
		"a millisecond earlier is clipped": {body: body("18", midnight.Add(-time.Millisecond), now), from: midnight,
			clipped: true},
		"since a week ago is clipped": {body: body("18", now.AddDate(0, 0, -7), now), from: midnight, clipped: true},
		"an end in the future":        {body: body("18", noon, now.AddDate(0, 0, 3)), from: noon},
		"wholly before the day": {body: body("18", midnight.Add(-2*time.Hour), midnight),
			problem: "end_time must be after the start of the current day, 2026-03-08T00:00:00-08:00"},
		"later in the day": {body: body("18", now.Add(time.Minute), now.Add(time.Hour)), from: now.Add(time.Minute)},
		"wholly after the day": {body: body("18", midnight.Add(23*time.Hour), now.AddDate(0, 0, 2)),
			problem: "start_time must be before the end of the current day"},
		"the end before the start":   {body: body("18", now, noon), problem: "start_time must be before end_time"},
		"an empty window":            {body: body("18", noon, noon), problem: "start_time must be before end_time"},
		"another event type":         {body: body("60008", noon, now), problem: "event_type must be 18"},
		"the name of the event type": {body: body(`"order_placed"`, noon, now), problem: "event_type must be 18"},
		"no event type":              {body: `{"start_time":1,"end_time":2}`, problem: "event_type must be 18"},
		"no times": {body: `{"event_type":18}`,
			problem: "start_time is required, in epoch milliseconds (and 1 more)"},
		"null is not sent": {body: `{"event_type":18,"start_time":null,"end_time":1}`,
			problem: "start_time is required"},
		"numbers as text": {body: fmt.Sprintf(`{"event_type":"18","start_time":"%d","end_time":"%d.0"}`,
			ms(noon), ms(now)), from: noon},
		"a zero after the point": {body: fmt.Sprintf(`{"event_type":18.0,"start_time":%d.0,"end_time":%d.00}`, ms(noon),
			ms(now)), from: noon},
		"a part of a millisecond": {body: fmt.Sprintf(`{"event_type":18,"start_time":%d.5,"end_time":%d}`,
			ms(noon), ms(now)), problem: "start_time must be a whole number"},
		"no event type but text": {body: `{"event_type":"","start_time":1,"end_time":2}`,
			problem: "event_type must be 18"},
		"a time of another age": {body: `{"event_type":18,"start_time":-1,"end_time":2}`,
			problem: "start_time must be in epoch milliseconds"},
		"since ever": {body: fmt.Sprintf(`{"event_type":18,"start_time":0,"end_time":%d}`, ms(now)), from: midnight,
			clipped: true},
		"seconds are taken for no instant": {body: `{"event_type":18,"start_time":0,"end_time":1772960400}`,
			problem: "end_time must be in epoch milliseconds"},
		"microseconds are taken for no instant": {body: `{"event_type":18,"start_time":0,"end_time":1772960400000000}`,
			problem: "end_time must be in epoch milliseconds"},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := DecodeRetryRequest([]byte(row.body), now, zone)
			if row.problem != "" {
				require.Equal(t, core.Invalid, core.CodeOf(err))
				require.ErrorContains(t, err, row.problem)
				return
			}
			require.NoError(t, err)
			require.True(t, row.from.Equal(request.From), request.From)
			require.Equal(t, row.clipped, request.Clipped)
		})
	}
}

func TestDayBeginsCorrectlyInZonesWithoutMidnight(t *testing.T) {
	for _, name := range []string{"America/Santiago", "America/Havana", "Atlantic/Azores", "Asia/Beirut",
		"Africa/Cairo", "Asia/Kolkata", "Pacific/Auckland"} {
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		for noon := time.Date(2026, 1, 1, 12, 0, 0, 0, zone); noon.Year() == 2026; noon = noon.AddDate(0, 0, 1) {
			began := dayOf(noon)
			require.Equal(t, noon.Format(time.DateOnly), began.Format(time.DateOnly), name)
			require.NotEqual(t, noon.Format(time.DateOnly), began.Add(-time.Millisecond).Format(time.DateOnly), name)
		}
	}
	zone, err := time.LoadLocation("America/Santiago")
	require.NoError(t, err)
	noon := time.Date(2026, 9, 6, 12, 0, 0, 0, zone)
	require.Equal(t, time.Date(2026, 9, 6, 1, 0, 0, 0, zone), dayOf(noon), "the day had no hour from 0 to 1")
}

func FuzzDecodeRetryRequest(f *testing.F) {
	for _, seed := range []string{`{"event_type":18,"start_time":1,"end_time":2}`,
		`{"event_type":"18","start_time":1772960400000,"end_time":1e15}`, `[]`, `{"event_type":18,"event_type":18}`} {
		f.Add([]byte(seed))
	}
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		request, err := DecodeRetryRequest(body, now, time.UTC)
		if err != nil {
			require.Equal(t, core.Invalid, core.CodeOf(err))
			return
		}
		require.True(t, request.From.Before(request.To))
		require.False(t, request.From.Before(now.Truncate(24*time.Hour)))
	})
}

// fakeRetries stores order retries and returns what the test sets.
type fakeRetries struct {
	chosen, sent, answers, failed int
	last                          core.ID // of the resent ones
	broken                        error
	ended                         []core.Event
	failure                       string
}

func (r *fakeRetries) Select(context.Context, core.Job, TimeRange) error { return r.broken }

func (r *fakeRetries) Resend(_ context.Context, _ core.Job, after core.ID, limit int) (core.ID, error) {
	n := min(limit, r.chosen-r.sent)
	if n == 0 {
		return core.ID{}, nil
	}
	if after != r.last {
		return core.ID{}, fmt.Errorf("resending after %s, not %s", after, r.last)
	}
	r.sent += n
	binary.BigEndian.PutUint64(r.last[8:], uint64(r.sent))
	return r.last, nil
}

func (r *fakeRetries) Tally(context.Context, core.Job) (Tally, error) {
	return Tally{Selected: r.chosen, Sent: r.sent, Responded: r.answers, Failed: r.failed}, nil
}

func (r *fakeRetries) End(_ context.Context, _ core.Job, event core.Event, _ Tally, failure string) error {
	r.ended, r.failure = append(r.ended, event), failure
	return nil
}

func TestOrderRetryReportsAfterEveryResendFinished(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	job, err := RetryRequest{TimeRange: TimeRange{now.Add(-time.Hour), now}}.Job(7, now)
	require.NoError(t, err)
	records := &fakeRetries{chosen: 1200}
	retry := OrderRetry{Retries: records, Clock: core.NewSystemClock(nil)}
	var done, total int
	run := func() error {
		return retry.Run(context.Background(), job, func(d, t int) { done, total = d, t })
	}
	var postponed core.Snooze
	require.ErrorAs(t, run(), &postponed)
	require.Equal(t, 1200, records.sent, "all resends precede the first wait for responses")
	records.answers, records.failed = 1199, 3
	require.ErrorAs(t, run(), &postponed)
	require.Equal(t, []int{1199, 1200}, []int{done, total})
	require.Empty(t, records.ended)
	records.answers = 1200
	require.NoError(t, run())
	require.Len(t, records.ended, 1)
	require.Equal(t, core.WebhookRetry, records.ended[0].Type)
	require.JSONEq(t, `{"reference_id":"`+job.ID.String()+
		`","num_webhooks_retried":1200,"num_webhooks_retry_failed":3}`, string(records.ended[0].Body))
	eventtest.Check(t, core.WebhookRetry, records.ended[0].Body)
}

func TestLongResendsYieldToOtherJobs(t *testing.T) {
	for name, run := range map[string]func(*slowResends) error{
		"order retry": func(r *slowResends) error {
			return OrderRetry{slowRetries{r}, r}.Run(t.Context(), core.Job{Body: []byte(`{}`)}, func(int, int) {})
		},
		"problem": func(r *slowResends) error {
			return ProblemResend{slowProblems{r}, r}.Run(t.Context(), core.Job{Body: []byte(`{}`)}, func(int, int) {})
		},
	} {
		r := &slowResends{fakeResends{chunk: 20 * time.Second, left: 4 * resendChunk}}
		var postponed core.Snooze
		require.ErrorAs(t, run(r), &postponed, name)
		require.Equal(t, r.now, postponed.Until, "it continues at once")
		require.Equal(t, resendChunk, r.left)
		require.Zero(t, r.ended)
		require.NoError(t, run(r), name)
		require.Zero(t, r.left)
		require.Equal(t, 1, r.ended)
	}
}

// slowResends advances its clock with every chunk.
type slowResends struct{ fakeResends }

func (r *slowResends) Resend(_ context.Context, job core.Job, _ core.ID, limit int) (core.ID, error) {
	if r.left == 0 {
		return core.ID{}, nil
	}
	_, _, err := r.ResendNext(context.Background(), job, Selector{}, limit)
	return core.ID{1}, err
}

type slowRetries struct{ *slowResends }

func (slowRetries) Select(context.Context, core.Job, TimeRange) error { return nil }
func (r slowRetries) Tally(context.Context, core.Job) (Tally, error)  { return Tally{}, nil }
func (r slowRetries) End(context.Context, core.Job, core.Event, Tally, string) error {
	r.ended++
	return nil
}

type slowProblems struct{ *slowResends }

func (slowProblems) Select(context.Context, core.Job, Selector) error               { return nil }
func (slowProblems) Outcome(context.Context, core.Job) (o ResendOutcome, err error) { return o, nil }
func (r slowProblems) End(context.Context, core.Job, ResendOutcome, string) error {
	r.ended++
	return nil
}

func TestOrderRetryOfNothingEndsAtOnce(t *testing.T) {
	job, err := RetryRequest{}.Job(7, time.Now())
	require.NoError(t, err)
	records := &fakeRetries{}
	require.NoError(t, OrderRetry{records, core.NewSystemClock(nil)}.Run(context.Background(), job, func(int, int) {}))
	require.Contains(t, string(records.ended[0].Body), `"num_webhooks_retried":0`)
}

func TestFailedOrderRetryCountsUnfinishedResendsAsFailed(t *testing.T) {
	job, err := RetryRequest{}.Job(7, time.Now())
	require.NoError(t, err)
	records := &fakeRetries{chosen: 10, sent: 6, answers: 4, failed: 1}
	require.NoError(t, OrderRetry{records, core.NewSystemClock(nil)}.Fail(context.Background(), job,
		errors.New("broken")))
	require.Contains(t, string(records.ended[0].Body), `"num_webhooks_retried":6,"num_webhooks_retry_failed":3`)
	require.Equal(t, "broken", records.failure)
}
