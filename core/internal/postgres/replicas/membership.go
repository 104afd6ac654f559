package replicas

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/queue"
)

// The times of a takeover. A replica that lost its session stops a little earlier than others may take over.
const (
	watchInterval  = 600 * time.Millisecond // how often a replica looks for free locks of others
	restInterval   = 5 * time.Second        // how often it looks when it is alone, and whether there is work
	freeTime       = time.Second            // how long a lock is free before the leases of its owner end
	stopAfter      = 900 * time.Millisecond // after this time without a session, a replica stops what runs
	settleInterval = 50 * time.Millisecond  // how often a replica looks for others after it has retaken its session
	retakeInterval = 50 * time.Millisecond  // between attempts to open a session
	openTimeout    = 2 * time.Second        // of such an attempt
	queryTimeout   = 2 * time.Second        // of other statements
	settleTime     = time.Second            // for transactions that lease work to end, unless all work was stopped
	recordTime     = 500 * time.Millisecond // for results to be recorded before a session is retaken
)

// Membership keeps the identity of a replica and pauses its engines when the identity may be lost. It takes over from
// other replicas that are gone. It measures real time.
type Membership struct {
	store   Store
	db      *postgres.DB
	owner   core.ID
	engines map[Queue]queue.Control
	log     *slog.Logger

	session  *Session
	freeFrom map[int64]time.Time // when a lock was first seen free, by key
	checked  time.Time           // when the queues were last looked at
	woken    chan struct{}       // buffered, one element: another replica may have joined
	settleBy time.Time           // when engines that wait for other replicas continue; zero: none waits

	mu        sync.Mutex
	leaving   bool
	late      *time.Timer    // stops what runs; nil: the session was never lost
	abandoned map[Queue]bool // engines that stopped what ran
	stop      func()         // ends the restarts of engines
	restarts  sync.WaitGroup
}

// NewMembership returns the membership of a replica with the owner id of its engines.
func NewMembership(db *postgres.DB, owner core.ID, engines map[Queue]queue.Control, log *slog.Logger) *Membership {
	return &Membership{store: New(db), db: db, owner: owner, engines: engines, log: log,
		freeFrom: map[int64]time.Time{}, woken: make(chan struct{}, 1), abandoned: map[Queue]bool{}, stop: func() {}}
}

// Join makes the replica known to the others. Call it before the engines run.
func (m *Membership) Join(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	session, err := m.store.Open(ctx)
	if err != nil {
		return err
	}
	if err := session.Register(ctx, m.owner, m.db.Clock().Now()); err != nil {
		session.Close()
		return err
	}
	session.Watch(m.pause)
	m.session = session
	return nil
}

// Run keeps the session and watches the other replicas until the context ends. It then ends the leases that are left.
// Call it after Join, and end it after the engines.
func (m *Membership) Run(ctx context.Context) {
	look := time.NewTimer(0)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			m.leave()
			return
		case <-m.session.Lost():
			m.retake(ctx)
			look.Reset(0)
		case <-m.woken:
			look.Reset(0)
		case <-look.C:
			look.Reset(m.watch(ctx))
		}
	}
}

// Wake makes the replica look for others soon. It never blocks.
func (m *Membership) Wake() {
	select {
	case m.woken <- struct{}{}:
	default:
	}
}

// leave ends the leases of this replica and then its session.
func (m *Membership) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), queryTimeout)
	defer cancel()
	if err := m.store.Leave(ctx, m.owner); err != nil {
		m.log.Warn("leaving the other replicas failed", "error", err)
	}
	m.mu.Lock()
	m.leaving = true
	m.stop()
	m.mu.Unlock()
	m.restarts.Wait()
	m.session.Close()
	<-m.session.Lost()
}

// pause pauses the engines because the session is lost. If it is not retaken soon, they stop what runs.
func (m *Membership) pause() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.leaving {
		return
	}
	m.log.Warn("session of this replica lost")
	m.stop()
	for _, engine := range m.engines {
		engine.Pause()
	}
	m.late = time.AfterFunc(stopAfter, m.abandon)
}

// retake opens a session again, until the context ends. If another replica has taken over meanwhile, the engines stop
// what runs.
func (m *Membership) retake(ctx context.Context) {
	lost := m.session
	lost.Close()
	for ctx.Err() == nil {
		kept, err := m.openAgain(ctx, lost)
		if err == nil {
			m.mu.Lock()
			m.late.Stop()
			m.mu.Unlock()
			m.settleBy = time.Now().Add(freeTime)
			m.log.Info("session of this replica retaken", "leases_kept", kept)
			return
		}
		m.log.Debug("session of this replica is still lost", "error", err)
		_ = postgres.Pause(ctx, retakeInterval)
	}
}

// openAgain opens a session and retakes the identity with it. It first lets engines that stopped record their results,
// because others may claim as soon as this replica is back.
func (m *Membership) openAgain(ctx context.Context, lost *Session) (kept bool, err error) {
	opening, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	session, err := m.store.Open(opening)
	if err != nil {
		return false, err
	}
	m.recordResults(ctx)
	writing, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	kept, err = session.Retake(writing, m.owner, lost)
	if err == nil && !kept {
		m.abandon()
		err = session.Register(writing, m.owner, m.db.Clock().Now())
	}
	if err != nil {
		session.Close()
		return false, err
	}
	session.Watch(m.pause)
	m.session = session
	return kept, nil
}

// recordResults makes the engines record results at once. It waits for those that have stopped, for a short time.
func (m *Membership) recordResults(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	for name, engine := range m.engines {
		engine.RecordSoon()
		m.mu.Lock()
		stopped := m.abandoned[name]
		m.mu.Unlock()
		if stopped {
			engine.Settle(ctx)
		}
	}
}

// abandon stops what the engines run.
func (m *Membership) abandon() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, engine := range m.engines {
		m.abandoned[name] = true
		engine.Abandon()
	}
}

// resume makes the engines continue, each as soon as it can.
func (m *Membership) resume(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ctx, m.stop = context.WithCancel(ctx)
	for name, engine := range m.engines {
		m.restarts.Go(func() { m.restart(ctx, name, engine) })
	}
}

// restart makes an engine continue, unless the session is lost again. It first ends the leases of this replica that
// the engine does not hold.
func (m *Membership) restart(ctx context.Context, name Queue, engine queue.Control) {
	m.mu.Lock()
	stopped := m.abandoned[name]
	m.mu.Unlock()
	settling, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	held, settled := engine.Settle(settling)
	if !settled && stopped { // it still runs items, which others may run too
		if held, settled = engine.Settle(ctx); !settled {
			return
		}
	}
	ending, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	if settled {
		if err := m.store.EndLeases(ending, name, m.owner, held); err != nil {
			m.log.Warn("ending own leases failed", "queue", name, "error", err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() == nil {
		m.abandoned[name] = false
		engine.Resume()
	}
}

// watch looks for replicas that are gone, takes over from them, and returns the time until the next look. After a lost
// session it lets the engines continue when the other replicas are back, or can be taken over from.
func (m *Membership) watch(ctx context.Context) (next time.Duration) {
	query, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	settling := !m.settleBy.IsZero()
	check := time.Since(m.checked) >= restInterval
	if next = watchInterval; settling {
		next = settleInterval
	}
	list, err := m.store.List(query, check)
	if err != nil {
		if ctx.Err() == nil {
			m.log.Warn("looking for other replicas failed", "error", err)
		}
		return next
	}
	if check {
		m.wakeEngines(list)
	}
	if len(list) == 1 && !settling {
		next = restInterval
	}
	here, missing, now, freeFrom := false, false, time.Now(), map[int64]time.Time{}
	for _, replica := range list {
		switch {
		case replica.Owner == m.owner:
			here = replica.Key == m.session.key && !replica.Ended
			continue
		case replica.Locked:
			continue
		}
		since, seen := m.freeFrom[replica.Key]
		if !seen {
			since = now
		}
		freeFrom[replica.Key] = since
		if left := freeTime - now.Sub(since); left > 0 {
			missing = missing || !replica.Ended
			next = min(next, left)
			continue
		}
		m.takeOver(query, replica)
	}
	m.freeFrom = freeFrom
	if !here {
		m.session.Close() // another replica has taken over: the session is retaken as a new one
		return next
	}
	if settling && (!missing || now.After(m.settleBy)) {
		m.settleBy = time.Time{}
		m.resume(ctx)
	}
	return next
}

// wakeEngines wakes the engines whose queues are not empty, in case a notification was lost.
func (m *Membership) wakeEngines(list []Replica) {
	m.checked = time.Now()
	for _, replica := range list {
		for name, waiting := range map[Queue]bool{Jobs: replica.Jobs, Calls: replica.Calls,
			Publications: replica.Publications, Deliveries: replica.Deliveries} {
			if engine := m.engines[name]; waiting && engine != nil && replica.Owner == m.owner {
				engine.Wake()
			}
		}
	}
}

// takeOver ends the leases of a replica that is gone and wakes the engines.
func (m *Membership) takeOver(ctx context.Context, gone Replica) {
	ended, err := m.store.TakeOver(ctx, gone)
	if err != nil {
		m.log.Warn("taking over from another replica failed", "error", err)
		return
	}
	if !gone.Ended || ended > 0 {
		m.log.Warn("took over from a replica that is gone", "owner", gone.Owner, "leases", ended)
		for _, engine := range m.engines {
			engine.Wake()
		}
	}
}
