package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// keeper supervises one plugin. One goroutine starts, monitors, replaces and restarts it.
type keeper struct {
	host  *Host
	id    string
	log   *logbook
	slots chan struct{} // the concurrency limit; replaced by an upgrade that changes it

	wishes chan wish // buffered; the last one counts
	owed   wish      // what an operator requested for the next start

	spare    *parcel // replaces a rejected version; nil: none
	refused  string  // manifest digest of the rejected version
	retiring sync.WaitGroup

	mu      sync.Mutex
	state   State
	since   time.Time
	current *instance // serves calls; nil: none
	known   *instance // the last one that was ready, for its description
	changed chan struct{}
	version string
	starts  int
	health  string      // the problem while it is degraded
	faults  []Fault     // newest first
	ends    []time.Time // recent faults that ended the process
}

// wish is the desired state of a plugin.
type wish struct {
	run      bool
	upgraded chan error // of an upgrade: receives its result
}

func newKeeper(h *Host, id string) *keeper {
	log := &logbook{log: h.config.Log.With("plugin", id), clock: h.config.Clock}
	k := &keeper{host: h, id: id, log: log, wishes: make(chan wish, 16), changed: make(chan struct{})}
	k.enter(Discovered)
	return k
}

// want sends a desired state to the supervisor. If the buffer is full, it waits; no request is lost.
func (k *keeper) want(w wish) {
	select {
	case k.wishes <- w:
	case <-k.host.running.Done():
	}
}

// keep supervises the plugin until the context ends.
func (k *keeper) keep(ctx context.Context) {
	run := true
	for ctx.Err() == nil {
		if !run {
			run = k.rest(ctx)
			continue
		}
		i, installed, err := k.begin(ctx)
		if err == nil {
			run, err = k.watch(ctx, i)
		}
		if ctx.Err() != nil || err == nil {
			continue
		}
		run = k.recover(ctx, installed, err)
	}
	k.retiring.Wait()
	k.enter(Stopped)
}

// rest waits, stopped, until an operator starts the plugin.
func (k *keeper) rest(ctx context.Context) (run bool) {
	k.enter(Stopped)
	select {
	case <-ctx.Done():
		return false
	case k.owed = <-k.wishes:
		return k.owed.run
	}
}

// answer sends the result of an upgrade to its caller.
func (w wish) answer(err error) {
	if w.upgraded != nil {
		w.upgraded <- err
	}
}

// settle sends the result of a start to the caller of an upgrade of a stopped plugin.
func (k *keeper) settle(err error) {
	if err != nil {
		err = fmt.Errorf("the installed version does not get ready: %w", err)
	}
	k.owed.answer(err)
	k.owed = wish{}
}

// begin starts the installed version, or the fallback if that version was rejected, and serves calls from it. It also
// returns the digest of the installed manifest.
func (k *keeper) begin(ctx context.Context) (*instance, string, error) {
	p, err := readParcel(k.host.config.Dir, k.id)
	if k.spare == nil || k.owed.run || p.text != k.refused {
		var i *instance
		if err == nil {
			i, err = k.start(ctx, p, k.enter)
		}
		if err == nil {
			k.spend()
			k.serve(i)
			k.settle(nil)
			return i, p.text, nil
		}
		k.settle(err)
		if k.spare == nil || ctx.Err() != nil {
			return nil, p.text, err
		}
		_ = k.refuse(p.text, k.spare.manifest.Version, err)
	}
	i, err := k.start(ctx, *k.spare, k.enter)
	if err == nil {
		k.serve(i)
	}
	return i, p.text, err
}

// start starts one version until it is ready for calls.
func (k *keeper) start(ctx context.Context, p parcel, enter func(State)) (*instance, error) {
	ctx, cancel := until(ctx, k.host.config.Clock, k.host.config.StartWithin)
	defer cancel()
	k.mu.Lock()
	k.version = p.manifest.Version
	k.starts++
	k.mu.Unlock()
	i, err := k.host.launch(ctx, p, k.log, enter)
	if err != nil {
		return nil, err
	}
	enter(Configuring)
	examined := make(chan error, 1)
	go func() { examined <- i.examine(ctx) }()
	select {
	case err = <-examined:
	case <-i.process.ended:
		err = fmt.Errorf("it exited while it started (%s)", i.process.last())
		_ = i.conn.Close()
		<-examined
	}
	if errors.As(err, new(degraded)) {
		err = nil
	}
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = errors.New("it did not get ready in time")
	}
	if err != nil {
		i.end()
		return nil, err
	}
	return i, nil
}

// serve directs calls to an instance.
func (k *keeper) serve(i *instance) {
	k.mu.Lock()
	k.current, k.known = i, i
	if k.slots == nil || cap(k.slots) != i.parcel.inFlight {
		k.slots = make(chan struct{}, i.parcel.inFlight)
	}
	k.wake()
	k.mu.Unlock()
	k.enter(Ready)
}

// wake wakes the waiting calls. The caller holds k.mu.
func (k *keeper) wake() {
	close(k.changed)
	k.changed = make(chan struct{})
}

// watch monitors a ready plugin until it is stopped (run is false) or has a fault.
func (k *keeper) watch(ctx context.Context, i *instance) (run bool, fault error) {
	misses := 0
	for {
		due, giveUp := k.host.config.Clock.At(k.host.config.Clock.Now().Add(k.host.config.HealthEvery))
		select {
		case <-ctx.Done():
			giveUp()
			k.retire(i, true)
			return false, nil
		case <-i.process.ended:
			giveUp()
			k.drop(i)
			return true, fmt.Errorf("its process exited (%s)", i.process.last())
		case fault := <-i.hangs:
			giveUp()
			k.drop(i)
			return true, fault
		case w := <-k.wishes:
			giveUp()
			if !w.run {
				k.retire(i, true)
				w.answer(nil)
				return false, nil
			}
			i = k.upgrade(ctx, i, w)
		case <-due:
			if fault := k.check(ctx, i, &misses); fault != nil {
				k.drop(i)
				return true, fault
			}
		}
	}
}

// check checks the health of a plugin. It fails after too many consecutive misses, or if the plugin exceeds its
// memory limit.
func (k *keeper) check(ctx context.Context, i *instance, misses *int) error {
	ctx, cancel := until(ctx, k.host.config.Clock, healthWithin)
	defer cancel()
	err := i.serving(ctx)
	if used := i.measure(); used > i.parcel.memory {
		return fmt.Errorf("it used %d MB of memory, and its manifest allows %d", used>>20, i.parcel.memory>>20)
	}
	if *misses++; err == nil || errors.As(err, new(degraded)) {
		*misses = 0
	}
	k.feel(err)
	if *misses >= mostMisses {
		return fmt.Errorf("it failed %d consecutive health checks: %w%s", *misses, err, condition(i.process.pid()))
	}
	return nil
}

// feel enters the state that matches a plugin's health, and records the problem.
func (k *keeper) feel(wrong error) {
	if wrong == nil {
		k.enter(Ready)
		return
	}
	k.mu.Lock()
	k.health = shorten(inOneLine(wrong), longestFault)
	k.mu.Unlock()
	k.enter(Degraded)
}

// drop ends an instance at once.
func (k *keeper) drop(i *instance) {
	k.withdraw(i)
	i.leave()
	i.end()
}

func (k *keeper) withdraw(i *instance) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current == i {
		k.current = nil
	}
}

// enter changes the state and wakes the calls that wait for it.
func (k *keeper) enter(state State) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state == state {
		return
	}
	k.state, k.since = state, k.host.config.Clock.Now()
	k.wake()
	k.host.config.Observer.PluginEntered(k.id, state)
	level := slog.LevelInfo
	if state == Discovered || state == Verified || state == Starting || state == Configuring {
		level = slog.LevelDebug
	}
	k.log.log.Log(context.Background(), level, "plugin state changed", "state", string(state), "version",
		k.version)
}

func (k *keeper) status() Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := Status{ID: k.id, Version: k.version, State: k.state, Since: k.since, Starts: k.starts,
		Faults: slices.Clone(k.faults)}
	if k.known != nil {
		s.About = k.known.about
	}
	if k.state == Degraded {
		s.Health = k.health
	}
	if k.current != nil {
		s.PID, s.InFlight = k.current.process.pid(), k.current.underWay()
		s.Memory = k.current.memory.Load()
		s.Digest, s.Manifest = k.current.parcel.digest, k.current.parcel.text
	}
	return s
}

// until bounds a context by the host's clock.
func until(ctx context.Context, clock interface {
	Now() time.Time
	At(time.Time) (<-chan time.Time, func())
}, within time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	due, giveUp := clock.At(clock.Now().Add(within))
	go func() {
		defer giveUp()
		select {
		case <-due:
			cancel(context.DeadlineExceeded)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}
