package relay

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// abandonedSteps is an upload whose second step hangs. Its last attempt runs.
type abandonedSteps struct {
	*fakeDependencies
	running chan struct{}
}

func (b abandonedSteps) Plan(_ context.Context, c Call, _ []byte) (Decision, error) {
	request := Plan{Endpoint: "api", Hosts: []string{c.Platform}, Method: "POST", Path: "/first"}
	second := request
	second.Path = "/second"
	steps := []Step{{Name: "first", Request: request}, {Name: "second", Request: second}}
	return Decision{Plan: &Plan{Steps: steps}}, nil
}

func (b abandonedSteps) Send(ctx context.Context, r Request) Attempt {
	if strings.HasSuffix(r.URL, "/first") {
		return Attempt{Status: 201}
	}
	close(b.running)
	<-ctx.Done()
	return Attempt{ErrorClass: "canceled", Error: "the request was canceled"}
}

func TestAbandonedSequenceKeepsItsRecords(t *testing.T) {
	b := abandonedSteps{&fakeDependencies{}, make(chan struct{})}
	b.calls("swift", 2, 1)
	b.due[0].Attempts = 5
	e, stop := runEngine(t, Config{}, b, slog.DiscardHandler)
	<-b.running
	e.Pause()
	e.Abandon()
	await(t, func() bool { return b.finished("swift") == 1 })
	stop()
	r := b.results[0]
	require.Equal(t, []any{Waiting, true, 1}, []any{r.State, r.Uncounted, len(r.Earlier)})
	require.Equal(t, "first", r.Earlier[0].Step)
	require.Empty(t, b.released)
}

// hangingAggregator does not respond.
type hangingAggregator struct {
	*fakeDependencies
	running chan struct{}
}

func (b hangingAggregator) Send(ctx context.Context, _ Request) Attempt {
	close(b.running)
	<-ctx.Done()
	return Attempt{ErrorClass: "canceled", Error: "the request was canceled"}
}

func TestCallCutOffByStopIsRecordedUncounted(t *testing.T) {
	b := hangingAggregator{&fakeDependencies{}, make(chan struct{})}
	b.calls("swift", 2, 1)
	b.due[0].Attempts = 5 // this is the last one
	_, stop := runEngine(t, Config{StopWithin: time.Millisecond}, b, slog.DiscardHandler)
	<-b.running
	stopping := time.Now()
	stop()
	require.Empty(t, b.released)
	r := b.results[0]
	require.Equal(t, []any{Waiting, true, "canceled"}, []any{r.State, r.Uncounted, r.Attempt.ErrorClass})
	pause, _ := schedule().After(1)
	require.False(t, r.RetryAt.Before(stopping.Add(pause)), "the receiver may still work on the request")
}

// slowPlugin interprets the response when the test resumes it.
type slowPlugin struct {
	*fakeDependencies
	running, resume chan struct{}
}

func (s slowPlugin) Interpret(ctx context.Context, _ Call, _ []byte, _ Response) (Outcome, error) {
	close(s.running)
	<-s.resume
	return Outcome{State: OutcomeDone}, ctx.Err()
}

func TestAbandonedCallWithAResponseIsDone(t *testing.T) {
	s := slowPlugin{&fakeDependencies{}, make(chan struct{}), make(chan struct{})}
	s.calls("swift", 2, 1)
	e, stop := runEngine(t, Config{}, s, slog.DiscardHandler)
	<-s.running
	e.Pause()
	e.Abandon()
	close(s.resume)
	await(t, func() bool { return s.finished("swift") == 1 })
	stop()
	require.Equal(t, Done, s.results[0].State)
	require.Empty(t, s.released)
}
