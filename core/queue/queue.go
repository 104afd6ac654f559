// Package queue is the engine for leased work. It claims items from a table that replicas share. It limits concurrent
// runs for each key, records results in batches, and stops in an orderly way. Deliveries to webhooks, calls to
// aggregators, publications of menus and jobs are policies on it.
//
// An item passes through these steps. Each has one owner, and none is lost:
//
//	claim    The claim loop leases due items within the replica's capacity. It is woken by a signal, at the due time
//	         of the next item, and at an interval, which covers lost signals. The interval is longer at rest.
//	wait     An item waits in the queue of its key until the concurrency limit of the key admits it. Items of one
//	         key start in the order in which they were claimed.
//	run      A goroutine runs the item. Its outcome adjusts the concurrency limit of the key.
//	finish   The results are recorded in batches. The next batch gathers while a transaction runs. A result is kept
//	         while the database is unavailable, and its item counts as held until it is recorded.
//	release  An item that cannot start in time, or must not, returns to the table unchanged.
//
// A crash loses nothing: another replica ends the leases, or they expire, and it claims the items. A replica that may
// have lost its leases pauses its engines (pause.go).
package queue

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
)

// Policy is what differs between queues: the table of the items, and what it means to run one. T is an item and R the
// result of a run. All methods must be safe for concurrent use.
type Policy[T, R any] interface {
	// Claim leases due items to the owner until the given time, within the capacity. Items of a key are in the order
	// in which they are to start. After an error, the engine releases the items.
	Claim(ctx context.Context, owner core.ID, capacity Capacity, until time.Time) (Batch[T], error)
	// Lease describes a leased item.
	Lease(item T) Lease
	// Run processes an item. It must return soon after the context ends, and must not panic.
	Run(ctx context.Context, item T) (R, Outcome)
	// Finish records results in one transaction. The engine repeats it until it succeeds, so it must record a result
	// once only.
	Finish(ctx context.Context, owner core.ID, results []R) (FinishResult, error)
	// Release returns items to the table with their due times unchanged. It ignores leases that the owner has lost.
	Release(ctx context.Context, owner core.ID, items []T) error
}

// Capacity is what a claim may take.
type Capacity struct {
	Items      int           // at most
	Busy       []int64       // keys to skip; sorted, so that equal sets give equal statements
	BusyGroups []string      // the same for groups
	PerKey     map[int64]int // at most, of keys that this replica knows
	OtherKeys  int           // at most, of each other key
	Ahead      time.Duration // retries that are due within this time may be taken, too
}

// Batch is the result of a claim.
type Batch[T any] struct {
	Items   []T
	More    bool      // more may be due: claim again at once
	NextDue time.Time // when to claim again at the latest; zero: nothing is pending
}

// Lease describes a leased item to the engine.
type Lease struct {
	ID     string    // unique among the items of the table
	Key    int64     // items of a key share a concurrency limit
	Group  string    // items of a group share a part of the capacity; "": none
	From   time.Time // when the item may start, at most Config.Ahead after its claim; zero: at once
	Until  time.Time // end of the lease; zero: the policy renews it
	Urgent bool      // the item starts although its key is blocked or slow
}

// Outcome is what a run means for its item and its key.
type Outcome struct {
	Next        Next
	Response    Response
	PausedUntil time.Time // no item of the key is claimed or starts until then; zero: no pause
}

// Next is what follows a run.
type Next int

// The steps after a run.
const (
	Finish  Next = iota // Finish records the result
	Release             // the item returns to the table
	Done                // the run has recorded its result itself
)

// Response is what a run showed about the receiver behind the key. It adjusts the concurrency limit.
type Response int

// The responses of a receiver.
const (
	NoRequest  Response = iota // nothing was sent: the limit stays
	Responded                  // a complete response, even a rejection: the limit grows
	NoResponse                 // no complete response: the limit is halved
)

// FinishResult is the effect of recorded results beyond their own items.
type FinishResult struct {
	Blocked []int64 // keys whose items may not start now, except urgent ones
	Due     bool    // items may have become due
}

// Config sets the bounds of an engine. All fields are required, except where a zero is explained.
type Config struct {
	Name          string        // of the items, in the log
	Owner         core.ID       // of this replica in leases; the zero id: a new one
	Capacity      int           // items leased to this replica at once
	GroupCapacity int           // of them in one group; 0: all
	Batch         int           // most items of one claim
	FinishBatch   int           // most results of one Finish; 0: all that wait
	Finishers     int           // calls of Finish at once; 0: one
	KeyLimit      int           // bound of the concurrency limit of a key
	FirstLimit    int           // the limit of a key without history; at most KeyLimit
	ClaimPerKey   int           // most items in one claim of a key without history; 0: FirstLimit
	MaxWaiting    int           // most items that wait for a key in memory, beyond its limit; 0: as claimed
	Lease         time.Duration // longer than a run and its recording, unless the policy renews leases
	StartMargin   time.Duration // the part of the lease that must remain when an item starts
	Ahead         time.Duration // how long before their due time retries are claimed, so that they start in time
	Poll          time.Duration // the interval of claims without a signal, while there is work; 0: 1 s
	Rest          time.Duration // the same after a claim that found nothing; 0: Poll if that is set, else 5 min
	// the time for running items to end at a stop, and again for recording their results; 0: 10 s
	StopWithin time.Duration
}

// Engine processes the items of one replica. Run owns every goroutine that it starts.
type Engine[T, R any] struct {
	config  Config
	policy  Policy[T, R]
	clock   core.Clock
	log     *slog.Logger
	owner   core.ID
	signal  wakeSignal // wakes the claim loop
	results chan finished[R]
	work    context.Context // of the engine, also of items that Start starts before Run; ended by cancel
	cancel  context.CancelFunc

	lockedPause time.Duration // before the next claim, while all due items are locked; the claim loop's own

	mu        sync.Mutex
	runs      context.Context // of running items; ended by cutOff
	cutOff    context.CancelCauseFunc
	paused    bool                   // by Pause
	abandoned bool                   // by Abandon
	claiming  bool                   // a claim is running
	releasing bool                   // a release is running
	retryNow  chan struct{}          // closed to end the pauses before results are recorded again
	keyQueues map[int64]*keyQueue[T] // by key
	groups    map[string]int         // items held, by group
	ids       map[string]struct{}    // of items held, without reservations
	held      int                    // leased or reserved, until recorded or released
	released  []leased[T]            // still held; the claim loop releases them
	claims    int                    // so far
	limited   bool                   // the last claim was limited by capacity
	stopping  bool
	stopped   chan struct{} // closed when stopping becomes true
	running   sync.WaitGroup
}

// leased is an item with its lease.
type leased[T any] struct {
	item  T
	lease Lease
}

// finished is a result with the lease of its item.
type finished[R any] struct {
	result R
	lease  Lease
}

// restPoll is the default poll interval of an engine that found nothing. Notifications wake it, and so does its
// replica when it finds rows in the queue.
const restPoll = 5 * time.Minute

// New returns an engine that is idle until Run.
func New[T, R any](config Config, policy Policy[T, R], clock core.Clock, log *slog.Logger) *Engine[T, R] {
	config.GroupCapacity = cmp.Or(config.GroupCapacity, config.Capacity)
	config.FinishBatch = cmp.Or(config.FinishBatch, config.Capacity)
	config.Rest = cmp.Or(config.Rest, config.Poll, restPoll)
	config.Poll = cmp.Or(config.Poll, time.Second)
	config.StopWithin = cmp.Or(config.StopWithin, 10*time.Second)
	config.Finishers = cmp.Or(config.Finishers, 1)
	config.FirstLimit = min(config.FirstLimit, config.KeyLimit)
	config.ClaimPerKey = cmp.Or(config.ClaimPerKey, config.FirstLimit)
	work, cancel := context.WithCancel(context.Background())
	runs, cutOff := context.WithCancelCause(work)
	if config.Owner == (core.ID{}) {
		config.Owner = core.NewID(clock.Now())
	}
	return &Engine[T, R]{
		config: config, policy: policy, clock: clock, log: log, owner: config.Owner,
		signal: newWakeSignal(), work: work, cancel: cancel, runs: runs, cutOff: cutOff,
		retryNow: make(chan struct{}),
		stopped:  make(chan struct{}),
		// For all that is held, so that no run waits: reservations may fill the capacity during a claim.
		results:   make(chan finished[R], config.Capacity+config.Batch),
		keyQueues: map[int64]*keyQueue[T]{}, groups: map[string]int{},
		ids: map[string]struct{}{},
	}
}

// Owner returns the id of this replica in leases.
func (e *Engine[T, R]) Owner() core.ID { return e.owner }

// LeaseUntil returns the end of a lease that begins now, in the precision of the database.
func (e *Engine[T, R]) LeaseUntil() time.Time {
	return e.clock.Now().Add(e.config.Lease).Truncate(time.Microsecond)
}

// Wake makes the engine claim soon. It never blocks.
func (e *Engine[T, R]) Wake() { e.signal.Wake() }

// Reserve reserves capacity for an item that its transaction stores with a lease of this replica. The item then
// starts right after the commit, without a claim. Reserve returns false if there is no capacity. Every reservation
// ends with Start or CancelReservation. It is for items without a group.
func (e *Engine[T, R]) Reserve(key int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopping || e.paused || e.held >= e.config.Capacity {
		return false
	}
	now := e.clock.Now()
	s := e.keyQueue(key)
	if s.paused(now) || s.held() >= s.allowed(now) {
		return false
	}
	s.reserved++
	e.held++
	return true
}

// CancelReservation cancels the reservation of a transaction that did not commit.
func (e *Engine[T, R]) CancelReservation(key int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.keyQueue(key).reserved--
	e.held--
	if e.limited { // the last claim left out items for which there is capacity now
		e.Wake()
	}
}

// Start starts a reserved item that is committed and leased to this replica.
func (e *Engine[T, R]) Start(item T) {
	work := leased[T]{item, e.policy.Lease(item)}
	e.mu.Lock()
	s := e.keyQueue(work.lease.Key)
	s.reserved--
	if e.stopping {
		e.held--
		e.mu.Unlock()
		e.release([]T{item})
		return
	}
	defer e.mu.Unlock()
	e.ids[work.lease.ID] = struct{}{}
	if e.abandoned {
		e.markForRelease(work)
		return
	}
	s.waiting = append(s.waiting, work)
	e.startWaiting(s)
}

// ReleaseWaiting releases the matching items of a key that have not started.
func (e *Engine[T, R]) ReleaseWaiting(key int64, match func(T) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.keyQueues[key]; s != nil {
		e.releaseMatching(s, func(w leased[T]) bool { return match(w.item) })
	}
}
