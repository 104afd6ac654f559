package sdk

import "sync"

// inFlight counts running calls. While draining it rejects new ones.
type inFlight struct {
	mu       sync.Mutex
	calls    int
	draining bool
	idle     chan struct{} // closed when draining and no call runs
}

func newInFlight() *inFlight { return &inFlight{idle: make(chan struct{})} }

// begin counts a call. It returns false while draining.
func (f *inFlight) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.draining {
		return false
	}
	f.calls++
	return true
}

func (f *inFlight) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls--; f.draining && f.calls == 0 {
		close(f.idle)
	}
}

// drain rejects further calls. The channel is closed when the running calls have ended.
func (f *inFlight) drain() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.draining {
		f.draining = true
		if f.calls == 0 {
			close(f.idle)
		}
	}
	return f.idle
}

func (f *inFlight) state() (calls int, draining bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls, f.draining
}
