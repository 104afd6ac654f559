package pluginhost

import (
	"sync"

	"google.golang.org/protobuf/proto"
)

// testWatch is a Watch that stores what arrives.
type testWatch struct {
	mu    sync.Mutex
	shown []string
}

// Watch returns itself (Watcher).
func (w *testWatch) Watch(string) Watch { return w }

func (w *testWatch) add(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shown = append(w.shown, text)
}

// Sent does nothing (Watch).
func (w *testWatch) Sent(*WatchedCall, bool, proto.Message) {}

// Ended stores the method (Watch).
func (w *testWatch) Ended(call *WatchedCall) { w.add(call.Method) }

// Logged does nothing (Watch).
func (w *testWatch) Logged(string) {}

// Faulted stores the text (Watch).
func (w *testWatch) Faulted(text string) { w.add(text) }

// Close does nothing (Watch).
func (w *testWatch) Close() {}
