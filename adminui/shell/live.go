package shell

import (
	"bufio"
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
)

// ChangeToken returns something that differs once a business has changed.
type ChangeToken func(ctx context.Context, business core.BusinessID) (string, error)

const (
	pollInterval         = 2 * time.Second  // how often changes are looked for
	heartbeatInterval    = 20 * time.Second // how often a quiet stream shows that it lives
	maxStreamAge         = 15 * time.Minute // after which the browser connects, and shows its session, anew
	sessionCheckInterval = 10 * time.Second // how often the sessions of streams are checked
)

// Limits of streams: in all, and so that one user or one browser cannot take them from others.
const (
	maxStreams        = 500
	maxUserStreams    = 60
	maxSessionStreams = 20
)

// UsersBySession finds the users of those sessions that have not ended, by their tokens.
type UsersBySession func(ctx context.Context, tokens []string) (map[string]access.User, error)

// watcher is a stream: a page of a session that follows a business.
type watcher struct {
	business core.BusinessID
	sequence int64 // in the order in which streams began
	user     int64
	session  string        // its token
	changed  chan struct{} // of one element: the business has changed since the page last looked
	ended    chan struct{} // closed when the session is over, or has newer streams in its stead
}

// Live notifies pages that their business has changed. One goroutine looks at the
// businesses that somebody watches, however many watch.
type Live struct {
	ChangeToken    ChangeToken
	UsersBySession UsersBySession
	Log            *slog.Logger
	mu             sync.Mutex
	watchers       map[*watcher]bool
	started        int64 // streams
	tokens         map[core.BusinessID]string
	stopped        chan struct{}
	stopOnce       sync.Once
}

// NewLive makes one; Run has to run for pages to be notified.
func NewLive(token ChangeToken, visitors UsersBySession, log *slog.Logger) *Live {
	return &Live{ChangeToken: token, UsersBySession: visitors, Log: log,
		watchers: map[*watcher]bool{}, tokens: map[core.BusinessID]string{}, stopped: make(chan struct{})}
}

// Run looks for changes, and for sessions that are over, until the context ends.
func (l *Live) Run(ctx context.Context) {
	tick, sessions := time.NewTicker(pollInterval), time.NewTicker(sessionCheckInterval)
	defer tick.Stop()
	defer sessions.Stop()
	for {
		select {
		case <-ctx.Done():
			l.Stop()
			return
		case <-l.stopped:
			return
		case <-tick.C:
			l.poll(ctx)
		case <-sessions.C:
			l.checkSessions(ctx)
		}
	}
}

// Stop ends all streams, so that a server which is to stop need not wait for them.
func (l *Live) Stop() { l.stopOnce.Do(func() { close(l.stopped) }) }

// poll asks for the change token of each watched business, and notifies those who watch
// one that differs.
func (l *Live) poll(ctx context.Context) {
	l.mu.Lock()
	businesses := map[core.BusinessID]bool{}
	for w := range l.watchers {
		businesses[w.business] = true
	}
	l.mu.Unlock()
	for business := range businesses {
		asking, cancel := context.WithTimeout(ctx, pollInterval)
		token, err := l.ChangeToken(asking, business)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				l.Log.Warn("polling for changes failed", "business", business, "error", err)
			}
			continue
		}
		l.notify(business, token)
	}
}

func (l *Live) notify(business core.BusinessID, token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, known := l.tokens[business]
	l.tokens[business] = token
	if !known || before == token {
		return
	}
	for w := range l.watchers {
		if w.business != business {
			continue
		}
		select {
		case w.changed <- struct{}{}:
		default: // notified already, and has not looked yet
		}
	}
}

// checkSessions ends the streams of sessions that are over, by signing out anywhere, and
// of users who no longer see the business. While it cannot be known, streams go on: they
// carry no data, and end by themselves after liveLife.
func (l *Live) checkSessions(ctx context.Context) {
	l.mu.Lock()
	tokens := map[string]bool{}
	for w := range l.watchers {
		tokens[w.session] = true
	}
	l.mu.Unlock()
	if len(tokens) == 0 {
		return
	}
	asking, cancel := context.WithTimeout(ctx, pollInterval)
	defer cancel()
	users, err := l.UsersBySession(asking, slices.Collect(maps.Keys(tokens)))
	if err != nil {
		if ctx.Err() == nil {
			l.Log.Warn("checking the sessions of live streams failed", "error", err)
		}
		return
	}
	l.endWhere(func(w *watcher) bool {
		user, signedIn := users[w.session]
		return tokens[w.session] && (!signedIn || !user.CanAccess(w.business))
	})
}

// End ends the streams of a session.
func (l *Live) End(session string) {
	l.endWhere(func(w *watcher) bool { return w.session == session })
}

func (l *Live) endWhere(over func(*watcher) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.watchers {
		if over(w) {
			l.remove(w)
			close(w.ended)
		}
	}
}

// Streams is how many watch.
func (l *Live) Streams() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.watchers)
}

// watch begins to watch; nil when there are too many streams in all. Where the session or
// its user has too many, the oldest ends: that a page was left shows only when its stream
// is next written to, so the oldest is hardly one that is looked at.
func (l *Live) watch(business core.BusinessID, user int64, session string) *watcher {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.limitStreams(maxSessionStreams, func(w *watcher) bool { return w.session == session })
	l.limitStreams(maxUserStreams, func(w *watcher) bool { return w.user == user })
	if len(l.watchers) >= maxStreams {
		return nil
	}
	l.started++
	w := &watcher{business: business, sequence: l.started, user: user, session: session,
		changed: make(chan struct{}, 1), ended: make(chan struct{})}
	l.watchers[w] = true
	return w
}

// limitStreams ends the oldest of some streams where there are so many; l.mu is held.
func (l *Live) limitStreams(most int, of func(*watcher) bool) {
	count, oldest := 0, (*watcher)(nil)
	for w := range l.watchers {
		if !of(w) {
			continue
		}
		count++
		if oldest == nil || w.sequence < oldest.sequence {
			oldest = w
		}
	}
	if count >= most {
		l.remove(oldest)
		close(oldest.ended)
	}
}

// fetchToken asks for the change token of a business that nobody watched before: what changes from
// now on is noticed at the next look. Where that fails, that look learns it.
func (l *Live) fetchToken(ctx context.Context, business core.BusinessID) {
	l.mu.Lock()
	_, known := l.tokens[business]
	l.mu.Unlock()
	if known {
		return
	}
	if token, err := l.ChangeToken(ctx, business); err == nil {
		l.notify(business, token)
	}
}

func (l *Live) unwatch(w *watcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(w)
}

// remove forgets a watcher, and with the last of a business its change token; l.mu is held.
func (l *Live) remove(w *watcher) {
	delete(l.watchers, w)
	for other := range l.watchers {
		if other.business == w.business {
			return
		}
	}
	delete(l.tokens, w.business)
}

// Stream answers with server-sent events: one named changed whenever the
// business has changed.
func (l *Live) Stream(c *fiber.Ctx, v *PageContext) error {
	watcher := l.watch(v.Business.ID, v.User.ID, strings.Clone(v.Session()))
	if watcher == nil {
		return core.Errorf(core.Unavailable, text.TooManySessions)
	}
	l.fetchToken(c.UserContext(), v.Business.ID)
	c.Set(fiber.HeaderContentType, "text/event-stream")
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Set("X-Accel-Buffering", "no")
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer l.unwatch(watcher)
		beat, life := time.NewTicker(heartbeatInterval), time.NewTimer(maxStreamAge)
		defer beat.Stop()
		defer life.Stop()
		message := ": welcome\n\n"
		for {
			if _, err := w.WriteString(message); err != nil || w.Flush() != nil {
				return
			}
			select {
			case <-l.stopped:
				return
			case <-watcher.ended:
				return
			case <-life.C:
				return
			case <-watcher.changed:
				message = "event: changed\ndata: 1\n\n"
			case <-beat.C:
				message = "event: beat\ndata: 1\n\n"
			}
		}
	})
	return nil
}
