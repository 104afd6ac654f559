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

// ChangeToken returns a token that differs after a change of the business.
type ChangeToken func(ctx context.Context, business core.BusinessID) (string, error)

const (
	pollInterval         = 2 * time.Second
	heartbeatInterval    = 20 * time.Second // a quiet stream sends a heartbeat
	maxStreamAge         = 15 * time.Minute // the browser reconnects afterwards, with its session
	sessionCheckInterval = 10 * time.Second
)

// Limits of streams: in total, per user, and per session.
const (
	maxStreams        = 500
	maxUserStreams    = 60
	maxSessionStreams = 20
)

// UsersBySession returns the users of the active sessions by token.
type UsersBySession func(ctx context.Context, tokens []string) (map[string]access.User, error)

// watcher is a stream: an open page of a business.
type watcher struct {
	business core.BusinessID
	sequence int64 // in the order of their start
	user     int64
	session  string        // token
	changed  chan struct{} // has one element after a change that the stream has not sent yet
	ended    chan struct{} // closed when the stream must end
}

// Live notifies pages of changes of their business. One goroutine polls each business once for all its watchers.
type Live struct {
	ChangeToken    ChangeToken
	UsersBySession UsersBySession
	Log            *slog.Logger
	mu             sync.Mutex
	watchers       map[*watcher]bool
	started        int64 // number of streams so far
	tokens         map[core.BusinessID]string
	stopped        chan struct{}
	stopOnce       sync.Once
}

// NewLive returns a Live. It notifies pages only while Run runs.
func NewLive(token ChangeToken, visitors UsersBySession, log *slog.Logger) *Live {
	return &Live{ChangeToken: token, UsersBySession: visitors, Log: log,
		watchers: map[*watcher]bool{}, tokens: map[core.BusinessID]string{}, stopped: make(chan struct{})}
}

// Run polls for changes and ended sessions until the context ends.
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

// Stop ends all streams, so that a server can shut down.
func (l *Live) Stop() { l.stopOnce.Do(func() { close(l.stopped) }) }

// poll reads the change token of each watched business, and notifies the watchers of those that changed.
func (l *Live) poll(ctx context.Context) {
	l.mu.Lock()
	businesses := map[core.BusinessID]bool{}
	for w := range l.watchers {
		businesses[w.business] = true
	}
	l.mu.Unlock()
	for business := range businesses {
		pollCtx, cancel := context.WithTimeout(ctx, pollInterval)
		token, err := l.ChangeToken(pollCtx, business)
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

// notify stores the change token of a business, and notifies its watchers if it differs from the one before. The last
// watcher may have left while the token was read: a token that is stored then would be compared with a later one.
func (l *Live) notify(business core.BusinessID, token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var watchers []*watcher
	for w := range l.watchers {
		if w.business == business {
			watchers = append(watchers, w)
		}
	}
	if len(watchers) == 0 {
		return
	}
	before, known := l.tokens[business]
	l.tokens[business] = token
	if !known || before == token {
		return
	}
	for _, w := range watchers {
		select {
		case w.changed <- struct{}{}:
		default: // notified already
		}
	}
}

// checkSessions ends the streams of ended sessions, and of users without access to the business. If sessions cannot be
// read, streams continue: they carry no data and end after maxStreamAge.
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
	pollCtx, cancel := context.WithTimeout(ctx, pollInterval)
	defer cancel()
	users, err := l.UsersBySession(pollCtx, slices.Collect(maps.Keys(tokens)))
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

func (l *Live) endWhere(matches func(*watcher) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for w := range l.watchers {
		if matches(w) {
			l.remove(w)
			close(w.ended)
		}
	}
}

// Streams returns the number of streams.
func (l *Live) Streams() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.watchers)
}

// watch registers a stream. It returns nil if there are too many. If the session or its user has too many, their oldest
// stream ends. A closed page is noticed only on the next write, so the oldest stream is probably one.
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

// limitStreams ends the oldest of the matching streams if there are limit or more. The caller holds l.mu.
func (l *Live) limitStreams(limit int, matches func(*watcher) bool) {
	count, oldest := 0, (*watcher)(nil)
	for w := range l.watchers {
		if !matches(w) {
			continue
		}
		count++
		if oldest == nil || w.sequence < oldest.sequence {
			oldest = w
		}
	}
	if count >= limit {
		l.remove(oldest)
		close(oldest.ended)
	}
}

// fetchToken reads the change token of a business without watchers, so that the next poll can compare. If that fails,
// the next poll reads it.
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

// remove removes a watcher, and the change token of a business without watchers. The caller holds l.mu.
func (l *Live) remove(w *watcher) {
	delete(l.watchers, w)
	for other := range l.watchers {
		if other.business == w.business {
			return
		}
	}
	delete(l.tokens, w.business)
}

// Stream sends a server-sent event named changed after each change of the business.
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
