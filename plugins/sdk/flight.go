package sdk

import "sync"

// flight counts the calls under way and ends their acceptance.
type flight struct {
	mu       sync.Mutex
	calls    int
	draining bool
	idle     chan struct{} // closed once it is draining and no call is under way
}

func newFlight() *flight { return &flight{idle: make(chan struct{})} }

// begin counts a call; false while draining.
func (f *flight) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.draining {
		return false
	}
	f.calls++
	return true
}

func (f *flight) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls--; f.draining && f.calls == 0 {
		close(f.idle)
	}
}

// drain accepts no more calls; the channel is closed when those under way have ended.
func (f *flight) drain() <-chan struct{} {
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

func (f *flight) now() (calls int, draining bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls, f.draining
}
