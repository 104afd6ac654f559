package pluginhost

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/servery-hub/servery/core"
)

// A request can crash a plugin each time. It must not stop the plugin for all other requests. So a request that was
// under way when a process ended is retried alone. If the process ends again, the request is set aside.

// Journal stores the faults of plugins and the requests that are set aside, for all replicas.
type Journal interface {
	// RecordFault records a fault. It must not block.
	RecordFault(f FaultReport)
	// SetAside stores a request that is set aside.
	SetAside(ctx context.Context, request SetAside) error
	// IsSetAside reports whether a request is still set aside.
	IsSetAside(ctx context.Context, request Request) (bool, error)
}

// The bounds of a statement of the Journal, and of the suspected requests in memory.
const (
	journalTimeout = 2 * time.Second
	maxSuspects    = 1000
	setAsideRetry  = time.Minute // for an aggregator that resends the request
)

// setAsideError is the error of a request that is set aside.
type setAsideError struct{ error }

// Unwrap returns the core error.
func (s setAsideError) Unwrap() error { return s.error }

// setAsideError returns the error of a request that is set aside.
func (k *supervisor) setAsideError(cause error) error {
	err := publicError(core.Unavailable, "request_set_aside",
		"plugin "+k.id+" crashed on this request, which is set aside",
		cause)
	err.RetryAfter = setAsideRetry
	return setAsideError{err}
}

// UpdateSetAside replaces the requests to a plugin that are set aside by those that all replicas share.
func (h *Host) UpdateSetAside(id string, requests []Request) {
	k := h.supervisor(id)
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.setAside)
	for _, request := range requests {
		k.setAside[request] = true
	}
}

// mustRunAlone reports whether a request was under way when a process ended. It then runs without others, which shows
// whether it is to blame.
func (k *supervisor) mustRunAlone(r request) bool {
	k.mu.Lock()
	i, suspects := k.lastReady, len(k.suspects)
	k.mu.Unlock()
	if suspects == 0 || i == nil {
		return false
	}
	id := r.identify(i.installed)
	k.mu.Lock()
	defer k.mu.Unlock()
	at, suspected := k.suspects[id]
	if suspected && k.host.config.Clock.Now().Sub(at) >= faultWindow {
		delete(k.suspects, id)
		return false
	}
	return suspected
}

// isSetAside reports whether a request to an instance is set aside. The journal has the last word, because an operator
// may just have retried the request.
func (k *supervisor) isSetAside(ctx context.Context, i *instance, r request) bool {
	k.mu.Lock()
	known := len(k.setAside)
	k.mu.Unlock()
	if known == 0 {
		return false
	}
	id := r.identify(i.installed)
	k.mu.Lock()
	known, journal := 0, k.host.config.Journal
	if k.setAside[id] {
		known = 1
	}
	k.mu.Unlock()
	if known == 0 || journal == nil {
		return known > 0
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), journalTimeout)
	defer cancel()
	still, err := journal.IsSetAside(ctx, id)
	if err != nil {
		k.log.log.Warn("reading whether a request is set aside failed", "call", id.Call, "error", err)
		return true
	}
	if !still {
		k.mu.Lock()
		delete(k.setAside, id)
		k.mu.Unlock()
	}
	return still
}

// blame counts the end of a process against a request that was under way. It sets the request aside, and returns true,
// if that was the second time and no other request was under way.
func (k *supervisor) blame(ctx context.Context, i *instance, lost lostCall, alone bool) bool {
	now := k.host.config.Clock.Now()
	k.mu.Lock()
	maps.DeleteFunc(k.suspects, func(_ Request, at time.Time) bool { return now.Sub(at) >= faultWindow })
	_, again := k.suspects[lost.request]
	aside := again && alone
	switch {
	case aside:
		delete(k.suspects, lost.request)
		k.setAside[lost.request] = true
	case again || len(k.suspects) < maxSuspects:
		k.suspects[lost.request] = now
	}
	k.mu.Unlock()
	if !aside {
		return false
	}
	request := SetAside{Request: lost.request, Version: i.installed.manifest.Version, Store: lost.store,
		About: lost.about, Fault: i.endReason(), At: now}
	k.log.log.Warn("request set aside", "call", request.Call, "business", request.Business,
		"platform", request.Platform, "about", request.About, "fault", request.Fault)
	if journal := k.host.config.Journal; journal != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), journalTimeout)
		defer cancel()
		if err := journal.SetAside(ctx, request); err != nil {
			k.log.log.Error("storing a request that is set aside failed", "call", request.Call, "error", err)
		}
	}
	return true
}

// recordEnd records how a call ended that did not succeed.
func (k *supervisor) recordEnd(i *instance, r request, outcome string, replied bool) {
	switch {
	case outcome == outcomeDown:
	case replied || outcome != outcomeLate && outcome != outcomeCanceled:
		k.clearSuspect(i, r)
	default:
		i.recordAbandoned(r, k.host.config.Clock.Now())
	}
}

// clearSuspect records that the plugin responded to a request.
func (k *supervisor) clearSuspect(i *instance, r request) {
	k.mu.Lock()
	suspects := len(k.suspects)
	k.mu.Unlock()
	if suspects == 0 && !i.hasAbandoned() {
		return
	}
	id := r.identify(i.installed)
	i.forgetAbandoned(id)
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.suspects, id)
}

// crash is the end of a process, with the requests that were under way.
type crash struct {
	at     time.Time
	causes []Request
}

// recordCrash counts the end of a process. The crashes of one request count once, because the request is set aside.
// The caller holds k.mu.
func (k *supervisor) recordCrash(now time.Time, f *fault) {
	causes := make([]Request, len(f.lost))
	for n, call := range f.lost {
		causes[n] = call.cause
	}
	known := func(c crash) bool { return slices.Contains(c.causes, causes[0]) }
	if len(causes) == 1 && (!f.late || k.setAside[f.lost[0].request]) && slices.ContainsFunc(k.recentCrashes, known) {
		return
	}
	k.recentCrashes = append(k.recentCrashes, crash{now, causes})
}
