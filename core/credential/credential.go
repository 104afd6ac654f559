// Package credential provides the access tokens of calls to aggregators (RFC 6749). A token is requested once for all
// replicas, renewed before it expires, and stored encrypted, so that a new refresh token is never lost.
package credential

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
)

// Key identifies the tokens of a credential of a platform of a business.
type Key struct {
	Business             core.BusinessID
	Platform, Credential string
	Store                string // ref_id of the store with own secrets; "": all others
}

// Tokens are the stored tokens of a credential.
type Tokens struct {
	AccessToken  string
	Digest       string // of what AccessToken was requested with
	RenewedAt    time.Time
	ExpiresAt    time.Time // zero: unknown
	RefreshToken string    // the latest; "": the one that an operator set
	First        string    // digest of the refresh token that an operator set
}

// Lease is the right of one renewal to store tokens.
type Lease struct {
	ID      int64
	Version int64 // counts stored renewals
	Tokens  Tokens
}

// Store stores tokens. Replicas share it.
type Store interface {
	// Lease takes the right to renew tokens until a time. It returns false while another owner has it.
	Lease(ctx context.Context, key Key, owner core.ID, until time.Time) (Lease, bool, error)
	// Save stores renewed tokens and ends the lease. It returns false, and stores nothing, if others were stored since
	// the lease began.
	Save(ctx context.Context, key Key, owner core.ID, lease Lease) (stored bool, err error)
	// Release ends the lease. A reason other than "" is why the renewal failed, for people.
	Release(ctx context.Context, key Key, owner core.ID, reason string) error
}

// Durations of a renewal.
const (
	maxMargin         = time.Minute      // a token is renewed this long before it expires, or a tenth of its lifetime
	rejectInterval    = 10 * time.Second // between renewals because of a 401; each doubles it
	maxRejectInterval = 5 * time.Minute
	retryInterval     = time.Second // after a failed renewal; each failed token request in a row doubles it
	maxRetryInterval  = 2 * time.Minute
	maxRetryAfter     = 10 * time.Minute // bound of the Retry-After of a token endpoint
	leaseTime         = 10 * time.Second // longer than a token request
	leaseTimeout      = 5 * time.Second  // of waiting for the lease
	saveTimeout       = 5 * time.Second
	waitTimeout       = 6 * time.Second // of one call
	pollInterval      = 50 * time.Millisecond
)

// maxEntries bounds the cached tokens.
const maxEntries = 8192

// Manager provides access tokens (relay.AccessTokens). Its fields are required.
type Manager struct {
	Store     Store
	Platforms relay.Platforms
	Sender    relay.Sender
	Clock     core.Clock
	Log       *slog.Logger

	mu      sync.Mutex
	entries map[entryKey]*entry
	unsaved map[Key]Lease // renewed, but not stored yet: the aggregator may accept no earlier refresh token
	renewal sync.WaitGroup
}

// entryKey also identifies the secrets, so that changed ones take effect at once.
type entryKey struct {
	Key
	digest string
}

// entry is a cached token, or a recent failure.
type entry struct {
	token     string
	renewedAt time.Time
	expiresAt time.Time // zero: unknown
	forcedAt  time.Time // when a rejected token was last renewed
	forced    int       // renewals of rejected tokens, each soon after the one before
	failure   error
	failures  int           // failed token requests in a row
	failedAt  time.Time     // of failure
	retryAt   time.Time     // after failure
	running   chan struct{} // closed when the running renewal ends; nil: none
}

// nextForced returns when a rejected token may be renewed. The interval doubles while new tokens are rejected too.
func (e *entry) nextForced() time.Time {
	return e.forcedAt.Add(doubled(rejectInterval, e.forced-1, maxRejectInterval))
}

// force records the renewal of a rejected token.
func (e *entry) force(now time.Time) {
	if now.Sub(e.forcedAt) >= 2*maxRejectInterval { // tokens were accepted meanwhile
		e.forced = 0
	}
	e.forced, e.forcedAt = e.forced+1, now
}

// doubled returns an interval that was doubled some times, up to a maximum.
func doubled(interval time.Duration, times int, maximum time.Duration) time.Duration {
	for ; times > 0 && interval < maximum; times-- {
		interval *= 2
	}
	return min(interval, maximum)
}

// clockMargin is how far the clock may be corrected backwards during a pause.
const clockMargin = time.Minute

// pausedBetween reports whether a pause is not over. Before its start, the clock was set back: then it is over.
func pausedBetween(from, until, now time.Time) bool {
	return now.After(from.Add(-clockMargin)) && now.Before(until)
}

// fresh reports whether the token need not be renewed.
func (e *entry) fresh(now time.Time) bool {
	if e.token == "" || e.expiresAt.IsZero() {
		return e.token != ""
	}
	return now.Before(e.expiresAt.Add(-min(maxMargin, e.expiresAt.Sub(e.renewedAt)/10)))
}

// valid reports whether the token has not expired.
func (e *entry) valid(now time.Time) bool {
	return e.token != "" && (e.expiresAt.IsZero() || now.Before(e.expiresAt))
}

// Token returns a valid token (relay.AccessTokens). Concurrent calls share one token request.
func (m *Manager) Token(ctx context.Context, r relay.TokenRequest) (relay.Token, error) {
	request, err := resolve(r)
	if err != nil {
		return relay.Token{}, err
	}
	at := entryKey{Key{r.Business, r.Platform, r.Credential, request.store}, request.digest()}
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	made := &relay.Token{} // what this call requested
	for {
		m.mu.Lock()
		e := m.entry(at)
		now := m.Clock.Now()
		rejected := r.Rejected != "" && e.token == r.Rejected
		switch {
		case !rejected && e.fresh(now):
			made.Value = e.token
			m.mu.Unlock()
			return *made, nil
		case e.failure != nil && pausedBetween(e.failedAt, e.retryAt, now):
			token, err := e.token, e.failure
			usable := !rejected && e.valid(now)
			m.mu.Unlock()
			if usable {
				made.Value = token
				return *made, nil
			}
			return *made, err
		case rejected && e.failure == nil && e.running == nil && pausedBetween(e.forcedAt, e.nextForced(), now):
			next, repeated := e.nextForced(), e.forced > 1
			m.mu.Unlock()
			return *made, relay.RejectedTokenError{Credential: r.Credential, Next: next, Repeated: repeated}
		}
		if e.running == nil {
			if e.running = make(chan struct{}); rejected && e.failure == nil {
				e.force(now)
			}
			m.renewal.Add(1)
			go m.renew(context.WithoutCancel(ctx), at, request, made)
		}
		running := e.running
		m.mu.Unlock()
		select {
		case <-running:
		case <-ctx.Done():
			return relay.Token{}, fmt.Errorf("the access token of the credential %q was not renewed within %v",
				r.Credential, waitTimeout)
		}
	}
}

// entry returns the entry of a key. The caller holds the lock.
func (m *Manager) entry(at entryKey) *entry {
	if m.entries == nil {
		m.entries = map[entryKey]*entry{}
	}
	e := m.entries[at]
	if e == nil {
		if len(m.entries) >= maxEntries {
			for other, e := range m.entries {
				if e.running == nil {
					delete(m.entries, other)
				}
			}
		}
		e = &entry{}
		m.entries[at] = e
	}
	return e
}

// Close waits until all renewals have ended, and tries for a while to store what could not be stored. Call it after all
// calls have ended.
func (m *Manager) Close() {
	m.renewal.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), saveTimeout)
	defer cancel()
	var saves sync.WaitGroup
	m.mu.Lock()
	for key, lease := range m.unsaved {
		saves.Go(func() {
			if _, err := m.save(ctx, key, core.NewID(m.Clock.Now()), lease); err != nil {
				m.Log.Error("renewed tokens are lost", "business", key.Business, "platform", key.Platform, "credential",
					key.Credential, "store", key.Store, "error", err)
			}
		})
	}
	m.mu.Unlock()
	saves.Wait()
}
