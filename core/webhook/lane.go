package webhook

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/servery-hub/servery/core"
)

// firstPlaces is how many attempts may be under way at once to an endpoint of
// which nothing is known yet.
const firstPlaces = 4

// promised is how many deliveries, for each place, wait at most for an endpoint that
// answers or refuses fast, but has not taken many yet.
const promised = 16

// lane is what this replica holds for one endpoint: a few attempts under way and
// a line of about a second behind them, so that an endpoint that hangs delays only
// itself, and many that hang leave room for the others.
type lane struct {
	places   core.Places // of attempts under way
	inFlight int
	reserved int // promised by Reserve, not started yet
	waiting  []Delivery
	recent   int           // attempts that it answered since the mark
	since    time.Time     // the mark, moved every second
	before   int           // those in the second before the mark
	pace     time.Duration // of the last attempt; 0: there was none
	longest  int           // line behind the attempts under way
	moved    time.Time     // when an attempt last ended, or began while there was none
	probedIn int           // the round of claims in which the endpoint was last seen to fail
	version  int64         // of the webhook, as far as a change of it was told; what was read before is not started
}

func (l *lane) held() int { return l.inFlight + l.reserved + len(l.waiting) }

// allowed is how many deliveries the lane may hold: those in flight, and behind
// them as many as the endpoint took in the last second or so, or would by the time
// of its last attempt, of these a few. A fast endpoint earns a long line, a slow one a
// short one, one that hangs has none; none takes more than half of the replica.
func (l *lane) allowed(now time.Time) int {
	if l.pace == 0 || l.inFlight > 0 && now.Sub(l.moved) > 2*time.Second {
		return l.places.Now
	}
	line := l.places.Now * min(int(time.Second/l.pace), promised)
	if now.Sub(l.since) <= 2*time.Second {
		line = max(line, l.recent, l.before)
	}
	return l.places.Now + min(line, l.longest)
}

// room is how many more are worth a claim: half a line, or a batch, at least.
func (l *lane) room(now time.Time, batch int) int {
	allowed := l.allowed(now)
	free := allowed - l.held()
	if free < max(1, min((allowed-l.places.Now)/2, batch)) {
		return 0
	}
	return free
}

// ended notes what an attempt that took so long found.
func (l *lane) ended(now time.Time, took time.Duration, answered bool) {
	l.inFlight--
	if age := now.Sub(l.since); age > time.Second {
		l.before = l.recent
		if age > 2*time.Second {
			l.before = 0
		}
		l.recent, l.since = 0, now
	}
	l.places.Ended(answered)
	l.pace, l.moved = max(took, time.Millisecond), now
	if answered {
		l.recent++
	}
}

// first is how many places an endpoint has of which nothing is known yet.
func (e *Engine) first() int { return min(firstPlaces, e.config.EndpointInFlight) }

// lane finds or makes the lane of an endpoint. The caller holds mu.
func (e *Engine) lane(endpoint int64) *lane {
	l := e.lanes[endpoint]
	if l == nil {
		l = &lane{places: core.Places{Now: e.first(), Most: e.config.EndpointInFlight}, longest: e.config.Held / 2, since: e.clock.Now()}
		e.lanes[endpoint] = l
	}
	return l
}

// room tells what may be claimed now.
func (e *Engine) room() Room {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.round++
	now := e.clock.Now()
	most, busy := map[int64]int{}, []int64{} // busy is never nil: that would be NULL to the database, which is unlike to nothing
	for endpoint, l := range e.lanes {
		if l.held() == 0 && now.Sub(l.since) > time.Minute {
			delete(e.lanes, endpoint)
			continue
		}
		if most[endpoint] = l.room(now, e.config.Batch); most[endpoint] == 0 {
			delete(most, endpoint)
			busy = append(busy, endpoint)
		}
	}
	slices.Sort(busy) // the same set, the same statement
	room := min(e.config.Held-e.held, e.config.Batch)
	if room < e.config.Batch/8 && room < e.config.Held/8 {
		room = 0 // small claims cost as much as large ones: wait for more room
	}
	e.short = room < e.config.Batch || len(busy) > 0 || e.bodies.bytes > 0
	return Room{Deliveries: room, Bodies: max(0, e.config.Bodies-e.bodies.bytes), Busy: busy, Most: most, First: e.first()}
}

// Reserve promises to start one delivery to the endpoint right after it has
// been committed; false when this replica has no room for it. Every promise is
// redeemed by Start or Forget.
func (e *Engine) Reserve(endpoint int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopping || e.held >= e.config.Held {
		return false
	}
	l := e.lane(endpoint)
	if l.held() >= l.allowed(e.clock.Now()) {
		return false
	}
	l.reserved++
	e.held++
	return true
}

// Forget takes a promise back: the transaction did not commit.
func (e *Engine) Forget(endpoint int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lane(endpoint).reserved--
	e.held--
}

// Start redeems the promise for a delivery that is committed and leased to this
// replica: its first attempt begins at once.
func (e *Engine) Start(d Delivery) {
	e.mu.Lock()
	l := e.lane(d.Endpoint)
	l.reserved--
	if e.stopping {
		e.held--
		e.mu.Unlock()
		e.release([]Delivery{d})
		return
	}
	e.wait(l, d)
	e.mu.Unlock()
}

// wait puts a delivery that counts as held into its lane, unless its webhook has
// been changed since it was read. The caller holds mu.
func (e *Engine) wait(l *lane, d Delivery) {
	e.bodies.hold(&d)
	if d.Version < l.version {
		e.giveBack(d)
		return
	}
	l.waiting = append(l.waiting, d)
	e.advance(l)
}

// accept puts claimed deliveries into their lanes and returns those whose endpoint
// was seen to fail since they were claimed.
func (e *Engine) accept(claimed []Delivery) []Delivery {
	e.mu.Lock()
	defer e.mu.Unlock()
	var refused []Delivery
	for _, d := range claimed {
		l := e.lane(d.Endpoint)
		if l.probedIn == e.round && d.patient() {
			refused = append(refused, d)
			continue
		}
		e.held++
		e.wait(l, d)
	}
	return refused
}

// advance starts attempts while the lane has waiting deliveries and places in
// flight, and gives back what it cannot start in time, or is far more than the
// lane may hold by now. The caller holds mu.
func (e *Engine) advance(l *lane) {
	now := e.clock.Now()
	for !e.stopping && len(l.waiting) > 0 && l.inFlight < l.places.Now {
		d := l.waiting[0]
		l.waiting[0] = Delivery{} // let the body go
		l.waiting = l.waiting[1:]
		if now.Add(startMargin).After(d.LeasedTo) {
			e.giveBack(d)
			continue
		}
		if l.inFlight == 0 {
			l.moved = now
		}
		l.inFlight++
		e.running.Add(1)
		go e.attempt(l, d)
	}
	if allowed := l.allowed(now); l.held() > 2*allowed {
		keep := allowed - l.inFlight - l.reserved
		e.giveBackOf(l, func(d Delivery) bool {
			keep--
			return keep < 0 && d.patient()
		})
	}
}

// attempt makes one try and hands its result on, then lets the lane go on.
func (e *Engine) attempt(l *lane, d Delivery) {
	defer e.running.Done()
	ctx, span := e.config.Tracer.Begin(d.Trace.In(e.attempts), core.ClientSpan, "deliver", string(d.EventType))
	d.Trace = core.TraceOf(ctx)
	began := e.clock.Now()
	record := e.poster.Post(ctx, d)
	span.Number("servery.business", int64(d.Business))
	span.Number("servery.webhook", d.WebhookID)
	span.Text("servery.event", d.EventID.String())
	span.Text("servery.delivery", d.ID.String())
	span.Number("servery.attempt", int64(d.Attempts+1))
	span.Number("http.response.status_code", int64(record.Status))
	span.End(record.Error)
	result := judge(d, record, e.clock.Now())
	e.observer.Attempted(result, record.StartedAt.Sub(d.DueAt))
	e.tell(result)
	result.Delivery.Body = nil
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bodies.letGo(d)   // before the result wakes who looks for room
	e.results <- result // holds all that can be held: never blocks
	now := e.clock.Now()
	l.ended(now, now.Sub(began), record.Answered())
	e.advance(l)
}

// tell logs an attempt: what failed for people to see, what went well for who
// looks closely.
func (e *Engine) tell(r Result) {
	level := slog.LevelInfo
	switch {
	case r.Attempt.OK():
		level = slog.LevelDebug
	case r.State == Failed || r.Disable:
		level = slog.LevelWarn
	}
	if !e.log.Enabled(context.Background(), level) {
		return
	}
	log := e.log
	if id := r.Delivery.Trace.ID(); id != "" {
		log = log.With("trace_id", id)
	}
	log.LogAttrs(context.Background(), level, "delivery attempt",
		slog.String("delivery", r.Delivery.ID.String()), slog.String("event", r.Delivery.EventID.String()),
		slog.String("event_type", string(r.Delivery.EventType)), slog.Int64("business", int64(r.Delivery.Business)),
		slog.Int64("webhook", r.Delivery.WebhookID), slog.Int("attempt", r.Delivery.Attempts+1),
		slog.Int("status", r.Attempt.Status), slog.String("state", string(r.State)), slog.Bool("switched_off", r.Disable),
		slog.String("error", r.Attempt.Error), slog.Duration("took", r.Attempt.Timing.Total))
}

// recorded frees the room of recorded results, gives back what waits for
// endpoints that fail, and looks at the queue again where a retry now waits
// there, something became due, or room was short.
func (e *Engine) recorded(batch []Result, outlook Outlook) {
	e.mu.Lock()
	e.held -= len(batch)
	for _, endpoint := range outlook.Probed {
		l := e.lane(endpoint)
		l.probedIn = e.round
		e.giveBackOf(l, Delivery.patient)
	}
	look := e.short || outlook.Due || len(outlook.Probed) > 0 || slices.ContainsFunc(batch, func(r Result) bool { return r.State == Pending })
	e.mu.Unlock()
	if look {
		e.Wake()
	}
}
