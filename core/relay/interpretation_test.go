package relay

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

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
	e := NewEngine(Config{}, Dependencies{Queue: s, Plugins: s, Platforms: s, Sender: s, Observer: s,
		Clock: core.NewSystemClock(nil), Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Run(ctx)
	}()
	<-s.running
	e.Pause()
	e.Abandon()
	close(s.resume)
	await(t, func() bool { return s.finished("swift") == 1 })
	cancel()
	<-ended
	require.Equal(t, Done, s.results[0].State)
	require.Empty(t, s.released)
}
