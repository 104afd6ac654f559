package pluginhost

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A call that ended earlier may not be the cause of a crash, so its crashes count until it is set aside.
func TestCrashesAfterALateCallCount(t *testing.T) {
	at := time.Unix(1, 0)
	late := Request{Call: "Orders.Translate"}
	k := &supervisor{setAside: map[Request]bool{}}
	crash := &fault{lost: []lostCall{{request: late, cause: late}}, late: true}
	k.recordCrash(at, crash)
	k.recordCrash(at, crash)
	require.Len(t, k.recentCrashes, 2)
	k.setAside[late] = true
	k.recordCrash(at, crash)
	k.recordCrash(at, &fault{lost: []lostCall{{request: late, cause: late}}})
	require.Len(t, k.recentCrashes, 2)
}

func TestReplyForgetsTheAbandonedCall(t *testing.T) {
	at := time.Unix(1, 0)
	answered, silent := Request{Call: "a"}, Request{Call: "b"}
	i := &instance{abandoned: []abandonedCall{{lostCall{request: answered}, at}, {lostCall{request: silent}, at}}}
	require.True(t, i.hasAbandoned())
	i.forgetAbandoned(answered)
	require.Equal(t, []abandonedCall{{lostCall{request: silent}, at}}, i.abandoned)
}

func TestAbandonedRequestDoesNotBlameAnother(t *testing.T) {
	s, journal := newJournalHost(t)
	s.ready("good")
	dir := t.TempDir()
	crash, finish := filepath.Join(dir, "crash"), filepath.Join(dir, "finish")
	ctx, cancel := context.WithCancel(t.Context())
	canceled := make(chan error, 1)
	go func() {
		_, err := s.check(ctx, "wait", finish)
		canceled <- err
	}()
	s.waitUntil("it is under way", func() bool { return s.status().InFlight == 1 })
	s.signal(syscall.SIGKILL)
	s.waitUntil("a fault", func() bool { return s.lastFault() != "" })
	cancel()
	require.Error(t, <-canceled)
	s.serves(2)

	s.crashLate(crash)
	innocent := s.checkAsync("wait", finish)
	s.waitUntil("it is under way", func() bool { return s.status().InFlight == 1 })
	require.NoError(t, os.WriteFile(crash, nil, 0o600))
	s.waitUntil("a crash", func() bool { return strings.Contains(s.lastFault(), "exit status 3") })
	require.NoError(t, os.WriteFile(finish, nil, 0o600))
	var got asyncResult
	s.advanceUntil("the call has ended", received(innocent, &got))
	require.NoError(t, got.err)
	require.Empty(t, journal.requests())
}
