package sdk

import "sync"

// inFlight counts the calls under way and ends their acceptance.
type inFlight struct {
	mu       sync.Mutex
	calls    int
	draining bool
	idle     chan struct{} // closed once it is draining and no call is under way
}

func newInFlight() *inFlight { return &inFlight{idle: make(chan struct{})} }

// begin counts a call; false while draining.
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

// drain accepts no more calls; the channel is closed when those under way have ended.
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
