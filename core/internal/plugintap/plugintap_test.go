package plugintap

import (
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/pluginhost"
	pb "github.com/servery-hub/servery/plugins/proto"
)

func TestWatchedCallsArriveMasked(t *testing.T) {
	dir := t.TempDir()
	l, err := Listen(dir, "tasty")
	require.NoError(t, err)
	watcher := Watcher{Dir: dir, Log: slog.New(slog.DiscardHandler)}
	require.Nil(t, watcher.Watch("other"))
	watch := watcher.Watch("tasty")
	call := &pluginhost.WatchedCall{Method: "Orders.Translate", Took: time.Millisecond}
	watch.Sent(call, false, &pb.TranslateRequest{Request: &pb.InboundRequest{
		Body: []byte(`<order><customer><name>Jane Roe</name></customer></order>`)}})
	watch.Sent(call, true, &pb.Translation{})
	watch.Ended(call)
	watch.Logged("a line")
	watch.Faulted("a fault")
	watch.Close()
	watch.Logged("too late")
	got := <-l.Records
	require.Equal(t, []any{"tasty", "Orders.Translate", time.Millisecond, "ok"},
		[]any{got.Plugin, got.Method, got.Took, got.Outcome})
	require.Contains(t, got.Request, "<name>[name]</name>")
	require.NotContains(t, got.Request, "Jane")
	require.Equal(t, "a line", (<-l.Records).Line)
	require.Equal(t, "a fault", (<-l.Records).Fault)
	l.Close()
	_, open := <-l.Records
	require.False(t, open)
	require.NoDirExists(t, filepath.Join(dir, "tasty"), "it was empty")
	require.Nil(t, watcher.Watch("tasty"))
}

func TestEndedCommandGetsNoMessages(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "tasty"), 0o755))
	l, err := Listen(dir, "tasty")
	require.NoError(t, err)
	watch := Watcher{Dir: dir, Log: slog.New(slog.DiscardHandler)}.Watch("tasty")
	watch.Logged("a line")
	<-l.Records
	l.Close()
	failed := &watch.(*stream).failed
	require.Eventually(t, func() bool {
		watch.Logged("a line")
		return failed.Load()
	}, 10*time.Second, time.Millisecond)
	call := &pluginhost.WatchedCall{Method: "Orders.Translate"}
	watch.Sent(call, false, &pb.TranslateRequest{})
	require.Nil(t, call.Detail)
	watch.Close()
}

func TestOnlyLoopbackListenersAreCalled(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "tasty"), 0o755))
	text, err := json.Marshal(target{Address: "192.0.2.7:80"})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tasty", fileName), text, 0o600))
	_, err = dial(dir, "tasty")
	require.ErrorContains(t, err, "has no loopback address")
}

func TestSendersWithoutTheTokenAreRejected(t *testing.T) {
	l, err := Listen(t.TempDir(), "tasty")
	require.NoError(t, err)
	defer l.Close()
	conn, err := net.Dial("tcp", l.listener.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, json.NewEncoder(conn).Encode(target{Token: "wrong"}))
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
}
