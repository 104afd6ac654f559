package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/plugins/sdk"
)

// maxRequests bounds the requests of operators that wait for a busy supervisor.
const maxRequests = 64

// supervisor supervises one plugin. One goroutine starts, monitors, replaces and restarts it.
type supervisor struct {
	host  *Host
	id    string
	log   *logBuffer
	slots chan struct{} // the concurrency limit; replaced by an upgrade that changes it

	requests chan desiredState // buffered
	pending  desiredState      // what an operator requested for the next start

	fallback       *installedPlugin // replaces a rejected version; nil: none
	rejectedDigest string           // manifest digest of the rejected version
	draining       sync.WaitGroup

	mu            sync.Mutex
	state         State
	since         time.Time
	current       *instance // serves calls; nil: none
	lastReady     *instance // the last one that was ready, for its description
	changed       chan struct{}
	version       string
	starts        int
	health        string                // the problem while it is degraded
	faults        []Fault               // newest first
	recentCrashes []crash               // recent faults that ended the process
	suspects      map[Request]time.Time // under way when a process ended, by the time of the last end
	setAside      map[Request]bool
	exclusive     chan struct{} // held by a call that runs alone
}

// desiredState is the desired state of a plugin.
type desiredState struct {
	run    bool
	result chan error // of an upgrade: receives its result
}

func newSupervisor(h *Host, id string) *supervisor {
	log := &logBuffer{log: h.config.Log.With("plugin", id), clock: h.config.Clock}
	k := &supervisor{host: h, id: id, log: log, requests: make(chan desiredState, maxRequests),
		changed: make(chan struct{}), suspects: map[Request]time.Time{}, setAside: map[Request]bool{},
		exclusive: make(chan struct{}, 1)}
	k.setState(Discovered)
	return k
}

// request sends a desired state to the supervisor. It does not wait for one that is busy: if the buffer is full, the
// oldest request is dropped.
func (k *supervisor) request(w desiredState) {
	for {
		select {
		case k.requests <- w:
			return
		default:
		}
		select {
		case old := <-k.requests:
			old.reply(core.Errorf(core.Unavailable, "many other requests to plugin %s followed", k.id))
		default:
		}
	}
}

// run supervises the plugin until the context ends.
func (k *supervisor) run(ctx context.Context) {
	run := true
	for ctx.Err() == nil {
		if !run {
			run = k.awaitStart(ctx)
			continue
		}
		i, installed, err := k.startInstalledOrFallback(ctx)
		if err == nil {
			run, err = k.monitor(ctx, i)
		}
		if ctx.Err() != nil || err == nil {
			continue
		}
		run = k.awaitRestart(ctx, installed, err)
	}
	k.draining.Wait()
	k.setState(Stopped)
}

// awaitStart waits, stopped, until an operator starts the plugin.
func (k *supervisor) awaitStart(ctx context.Context) (run bool) {
	k.setState(Stopped)
	select {
	case <-ctx.Done():
		return false
	case k.pending = <-k.requests:
		if k.pending.run {
			k.resetFaults()
		}
		return k.pending.run
	}
}

// reply sends the result of an upgrade to its caller.
func (w desiredState) reply(err error) {
	if w.result != nil {
		w.result <- err
	}
}

// replyPending sends the result of a start to the caller of an upgrade of a stopped plugin.
func (k *supervisor) replyPending(err error) {
	if err != nil {
		err = fmt.Errorf("the installed version does not get ready: %w", err)
	}
	k.pending.reply(err)
	k.pending = desiredState{}
}

// startInstalledOrFallback starts the installed version, or the fallback if that version was rejected, and serves calls
// from it. It also returns the digest of the installed manifest.
func (k *supervisor) startInstalledOrFallback(ctx context.Context) (*instance, string, error) {
	p, err := readInstalled(k.host.config.Dir, k.id)
	if k.fallback == nil || k.pending.run || p.manifestDigest != k.rejectedDigest {
		var i *instance
		if err == nil {
			i, err = k.start(ctx, p, k.setState)
		}
		if err == nil {
			k.dropFallback()
			k.serve(i)
			k.replyPending(nil)
			return i, p.manifestDigest, nil
		}
		k.replyPending(err)
		if k.fallback == nil || ctx.Err() != nil {
			return nil, p.manifestDigest, err
		}
		_ = k.rejectUpgrade(p.manifestDigest, k.fallback.manifest.Version, err)
	}
	i, err := k.start(ctx, *k.fallback, k.setState)
	if err == nil {
		k.serve(i)
	}
	return i, p.manifestDigest, err
}

// start starts one version until it is ready for calls.
func (k *supervisor) start(ctx context.Context, p installedPlugin, enter func(State)) (*instance, error) {
	ctx, cancel := withTimeout(ctx, k.host.config.Clock, k.host.config.StartTimeout)
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
	go func() { examined <- i.checkStarted(ctx) }()
	select {
	case err = <-examined:
	case <-ctx.Done():
		err = ctx.Err()
	case <-i.process.ended:
		err = fmt.Errorf("it exited while it started (%s)", i.process.exitReason())
	}
	if errors.As(err, new(degradedError)) {
		err = nil
	}
	if err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		err = errors.New("it did not get ready in time")
	}
	if err != nil {
		i.terminate()
		return nil, err
	}
	return i, nil
}

// serve directs calls to an instance.
func (k *supervisor) serve(i *instance) {
	k.mu.Lock()
	k.current, k.lastReady = i, i
	if k.slots == nil || cap(k.slots) != i.installed.inFlight {
		k.slots = make(chan struct{}, i.installed.inFlight)
	}
	k.signalChange()
	k.mu.Unlock()
	k.setState(Ready)
}

// signalChange wakes the waiting calls. The caller holds k.mu.
func (k *supervisor) signalChange() {
	close(k.changed)
	k.changed = make(chan struct{})
}

// monitor monitors a ready plugin until it is stopped (run is false) or has a fault.
func (k *supervisor) monitor(ctx context.Context, i *instance) (run bool, fault error) {
	misses := 0
	for {
		due, stopTimer := k.host.config.Clock.At(k.host.config.Clock.Now().Add(healthInterval))
		select {
		case <-ctx.Done():
			stopTimer()
			k.drain(i, true)
			return false, nil
		case <-i.process.ended:
			stopTimer()
			k.terminate(i)
			return true, k.exitFault(ctx, i)
		case <-i.broken:
			stopTimer()
			fault := k.endBroken(ctx, i)
			return fault != nil, fault
		case fault := <-i.hung:
			stopTimer()
			k.kill(i, fault.Error())
			return true, fault
		case w := <-k.requests:
			stopTimer()
			if !w.run {
				k.drain(i, true)
				w.reply(nil)
				return false, nil
			}
			if next := k.upgrade(ctx, i, w); next != i {
				i, misses = next, 0
			}
		case <-due:
			if fault := k.checkHealth(ctx, i, &misses); fault != nil {
				k.kill(i, fault.Error())
				return true, k.crashFault(ctx, i, fault.Error(), "")
			}
		}
	}
}

// endBroken ends an instance that lost a call with its connection. It returns nil if the hub stops meanwhile. Mostly
// its process has ended. A process that goes on is killed, because it would get no further calls.
func (k *supervisor) endBroken(ctx context.Context, i *instance) *fault {
	wait, cancel := withTimeout(ctx, k.host.config.Clock, lossTimeout)
	defer cancel()
	select {
	case <-i.process.ended:
		k.terminate(i)
		return k.exitFault(ctx, i)
	case <-wait.Done():
		if ctx.Err() != nil { // the hub stops
			k.drain(i, true)
			return nil
		}
		k.kill(i, closedConnection)
		return k.crashFault(ctx, i, closedConnection, "")
	}
}

// exitFault returns the fault of an instance whose process has exited.
func (k *supervisor) exitFault(ctx context.Context, i *instance) *fault {
	return k.crashFault(ctx, i, fmt.Sprintf("its process exited (%s)", i.process.exitReason()),
		stackIn(i.process.log.after(i.process.logStart)))
}

// crashFault returns the fault of an instance that has ended, with the calls that were lost or abandoned. The callers
// of the lost ones blame those.
func (k *supervisor) crashFault(ctx context.Context, i *instance, text, stack string) *fault {
	lost, abandoned := i.lostCalls(k.host.config.Clock.Now())
	for _, call := range abandoned {
		k.blame(ctx, i, call, len(lost)+len(abandoned) == 1)
	}
	return &fault{kind: FaultCrash, text: text, stack: stack, ended: true,
		lost: append(lost, abandoned...), late: len(lost) == 0 && len(abandoned) == 1}
}

// checkHealth checks the health of a plugin. It fails after too many consecutive misses, or if the plugin exceeds its
// memory limit or maxFiles.
func (k *supervisor) checkHealth(ctx context.Context, i *instance, misses *int) error {
	ctx, cancel := withTimeout(ctx, k.host.config.Clock, healthTimeout)
	defer cancel()
	err := i.checkHealth(ctx)
	if used := i.measureMemory(); used > i.installed.memory {
		return fmt.Errorf("it used %d MB of memory, and its manifest allows %d", used>>20, i.installed.memory>>20)
	}
	switch used := filesBelow(i.dir, i.programFile, maxFiles); {
	case used == unmeasured:
		return errors.New("its files could not be measured")
	case used > maxFiles:
		return fmt.Errorf("its files had more than %d MB together", maxFiles>>20)
	}
	if *misses++; err == nil || errors.As(err, new(degradedError)) {
		*misses = 0
	}
	k.setHealth(err)
	if *misses >= maxHealthMisses {
		return fmt.Errorf("it failed %d consecutive health checks: %w%s", *misses, err,
			processCondition(i.process.pid()))
	}
	return nil
}

// setHealth enters the state that matches a plugin's health, and records the problem.
func (k *supervisor) setHealth(wrong error) {
	if wrong == nil {
		k.setState(Ready)
		return
	}
	k.mu.Lock()
	k.health = sdk.Truncate(oneLine(wrong), maxFaultText)
	k.mu.Unlock()
	k.setState(Degraded)
}

// kill ends an instance at once, for the given reason. A stack in its log is then not that of the reason.
func (k *supervisor) kill(i *instance, reason string) {
	i.mu.Lock()
	i.killedFor = reason
	i.mu.Unlock()
	k.terminate(i)
}

// terminate ends an instance at once.
func (k *supervisor) terminate(i *instance) {
	k.clearCurrent(i)
	i.startDraining()
	i.terminate()
}

func (k *supervisor) clearCurrent(i *instance) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current == i {
		k.current = nil
	}
}

// setState changes the state and wakes the calls that wait for it.
func (k *supervisor) setState(state State) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.state == state {
		return
	}
	k.state, k.since = state, k.host.config.Clock.Now()
	k.signalChange()
	k.host.config.Observer.PluginEntered(k.id, state)
	level := slog.LevelInfo
	if state == Discovered || state == Verified || state == Starting || state == Configuring {
		level = slog.LevelDebug
	}
	k.log.log.Log(context.Background(), level, "plugin state changed", "state", string(state), "version",
		k.version)
}

func (k *supervisor) status() Status {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := Status{ID: k.id, Version: k.version, State: k.state, Since: k.since, Starts: k.starts,
		Faults: slices.Clone(k.faults)}
	if k.lastReady != nil {
		s.Description = k.lastReady.description
		if k.state != Stopped {
			s.Build = k.lastReady.installed.manifestDigest
		}
	}
	if k.state == Degraded {
		s.Health = k.health
	}
	if k.current != nil {
		s.PID, s.InFlight = k.current.process.pid(), k.current.inFlight()
		s.Memory = k.current.memory.Load()
		s.Digest, s.Manifest = k.current.installed.digest, k.current.installed.manifestDigest
	}
	return s
}
