package shell

import (
	"bufio"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/core"
)

// Pulse tells something that differs once a business has changed.
type Pulse func(ctx context.Context, business core.BusinessID) (string, error)

const (
	liveEvery  = 2 * time.Second  // how often changes are looked for
	liveBeat   = 20 * time.Second // how often a quiet stream shows that it lives
	liveLife   = 15 * time.Minute // after which the browser connects, and shows its session, anew
	maxStreams = 500
)

// Live tells pages that their business has changed. One goroutine looks at the
// businesses that somebody watches, however many watch.
type Live struct {
	Pulse   Pulse
	Log     *slog.Logger
	mu      sync.Mutex
	watched map[core.BusinessID]map[chan struct{}]bool
	seen    map[core.BusinessID]string
	streams int
	over    chan struct{}
	end     sync.Once
}

// NewLive makes one; Run has to run for it to tell anything.
func NewLive(pulse Pulse, log *slog.Logger) *Live {
	return &Live{Pulse: pulse, Log: log, watched: map[core.BusinessID]map[chan struct{}]bool{},
		seen: map[core.BusinessID]string{}, over: make(chan struct{})}
}

// Run looks for changes until the context ends.
func (l *Live) Run(ctx context.Context) {
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			l.Stop()
			return
		case <-l.over:
			return
		case <-tick.C:
			l.look(ctx)
		}
	}
}

// Stop ends all streams, so that a server which is to stop need not wait for them.
func (l *Live) Stop() { l.end.Do(func() { close(l.over) }) }

// look asks for the pulse of each watched business, and tells those who watch
// one that differs.
func (l *Live) look(ctx context.Context) {
	l.mu.Lock()
	businesses := make([]core.BusinessID, 0, len(l.watched))
	for business := range l.watched {
		businesses = append(businesses, business)
	}
	l.mu.Unlock()
	for _, business := range businesses {
		asking, cancel := context.WithTimeout(ctx, liveEvery)
		pulse, err := l.Pulse(asking, business)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				l.Log.Warn("changes could not be looked for", "business", business, "error", err)
			}
			continue
		}
		l.tell(business, pulse)
	}
}

func (l *Live) tell(business core.BusinessID, pulse string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, known := l.seen[business]
	l.seen[business] = pulse
	if !known || before == pulse {
		return
	}
	for watcher := range l.watched[business] {
		select {
		case watcher <- struct{}{}:
		default: // told already, and has not looked yet
		}
	}
}

// Streams is how many watch.
func (l *Live) Streams() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streams
}

// watch begins to watch; nil when there are too many who do.
func (l *Live) watch(business core.BusinessID) chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.streams >= maxStreams {
		return nil
	}
	l.streams++
	watcher := make(chan struct{}, 1)
	if l.watched[business] == nil {
		l.watched[business] = map[chan struct{}]bool{}
	}
	l.watched[business][watcher] = true
	return watcher
}

// learn asks for the pulse of a business that nobody watched before: what changes from
// now on is told at the next look. Where that fails, that look learns it.
func (l *Live) learn(ctx context.Context, business core.BusinessID) {
	l.mu.Lock()
	_, known := l.seen[business]
	l.mu.Unlock()
	if known {
		return
	}
	if pulse, err := l.Pulse(ctx, business); err == nil {
		l.tell(business, pulse)
	}
}

func (l *Live) leave(business core.BusinessID, watcher chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams--
	delete(l.watched[business], watcher)
	if len(l.watched[business]) == 0 {
		delete(l.watched, business)
		delete(l.seen, business)
	}
}

// Stream answers with server-sent events: one named changed whenever the
// business has changed.
func (l *Live) Stream(c *fiber.Ctx, v *Visit) error {
	business := v.Business.ID
	watcher := l.watch(business)
	if watcher == nil {
		return core.Errorf(core.Unavailable, text.TooManySessions)
	}
	l.learn(c.UserContext(), business)
	c.Set(fiber.HeaderContentType, "text/event-stream")
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set("X-Accel-Buffering", "no")
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer l.leave(business, watcher)
		beat, life := time.NewTicker(liveBeat), time.NewTimer(liveLife)
		defer beat.Stop()
		defer life.Stop()
		message := ": welcome\n\n"
		for {
			if _, err := w.WriteString(message); err != nil || w.Flush() != nil {
				return
			}
			select {
			case <-l.over:
				return
			case <-life.C:
				return
			case <-watcher:
				message = "event: changed\ndata: 1\n\n"
			case <-beat.C:
				message = "event: beat\ndata: 1\n\n"
			}
		}
	})
	return nil
}
