package credential

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
)

// renew renews the token of an entry. It continues after the call that started it has ended, because a new refresh
// token must be stored. The record of that call gets the request, in made.
func (m *Manager) renew(ctx context.Context, at entryKey, request tokenRequest, made *relay.Token) {
	defer m.renewal.Done()
	tokens, record, err := m.renewLeased(ctx, at, request)
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[at]
	made.Request, made.Fresh = record, err == nil && record != nil
	if err != nil {
		if record != nil && record.ErrorClass != "" {
			e.failures++
		}
		now := m.Clock.Now()
		e.failure, e.failedAt, e.retryAt = err, now, now.Add(retryDelay(record, e.failures, now))
		m.Log.Warn("renewing an access token failed", "business", at.Business, "platform", at.Platform, "credential",
			at.Credential, "store", at.Store, "error", err)
	} else {
		e.token, e.renewedAt, e.expiresAt = tokens.AccessToken, tokens.RenewedAt, tokens.ExpiresAt
		e.failure, e.failures = nil, 0
	}
	close(e.running)
	e.running = nil
}

// retryDelay returns how long to wait after a failed renewal, the last of some failed token requests in a row.
func retryDelay(record *relay.Attempt, failures int, now time.Time) time.Duration {
	if record == nil || record.ErrorClass == "" { // no token request has failed
		return retryInterval
	}
	interval := doubled(retryInterval, failures-1, maxRetryInterval)
	if record.Status != http.StatusTooManyRequests && record.Status != http.StatusServiceUnavailable {
		return interval
	}
	text := record.ResponseHeaders["Retry-After"]
	if seconds, err := strconv.Atoi(text); err == nil {
		requested := time.Duration(min(seconds, int(maxRetryAfter/time.Second))) * time.Second
		return max(requested, interval)
	}
	if until, err := http.ParseTime(text); err == nil {
		return min(max(until.Sub(now), interval), maxRetryAfter)
	}
	return interval
}

// errPeer means that another renewal holds the lease all the time.
var errPeer = errors.New("another replica renews the access token")

// errReplaced means that others were stored instead of the renewed tokens, and cannot be used.
var errReplaced = errors.New("other tokens were stored during the renewal")

// renewLeased renews tokens while no other renewal does. It first takes over what another one has renewed.
func (m *Manager) renewLeased(ctx context.Context, at entryKey,
	request tokenRequest) (tokens Tokens, record *relay.Attempt, err error) {
	owner := core.NewID(m.Clock.Now())
	lease, err := m.leaseSaved(ctx, at.Key, owner)
	if err != nil {
		return tokens, nil, err
	}
	now := m.Clock.Now()
	if usable(lease.Tokens, at, request, now) {
		return lease.Tokens, nil, m.Store.Release(ctx, at.Key, owner, "")
	}
	if err := m.checkCurrent(ctx, at, request); err != nil {
		return tokens, nil, errors.Join(err, m.Store.Release(ctx, at.Key, owner, ""))
	}
	first := digestOf(request.refreshToken)
	if lease.Tokens.First != first { // an operator has set another one
		lease.Tokens.RefreshToken = ""
	}
	refreshToken := lease.Tokens.RefreshToken
	if refreshToken == "" {
		refreshToken = request.refreshToken
	}
	granted, record, err := request.send(ctx, m.Sender, request.grant(refreshToken))
	if err != nil {
		return tokens, record, errors.Join(err, m.Store.Release(ctx, at.Key, owner, err.Error()))
	}
	lease.Tokens.AccessToken, lease.Tokens.Digest, lease.Tokens.First = granted.access, at.digest, first
	lease.Tokens.RenewedAt, lease.Tokens.ExpiresAt = now, time.Time{}
	if granted.lifetime > 0 {
		lease.Tokens.ExpiresAt = now.Add(granted.lifetime)
	}
	if request.OAuth2.RefreshToken != "" && granted.refresh != "" {
		lease.Tokens.RefreshToken = granted.refresh
	}
	stored, err := m.save(ctx, at.Key, owner, lease)
	if err != nil || stored {
		return lease.Tokens, record, err
	}
	if lease, err = m.lease(ctx, at.Key, owner); err != nil {
		return tokens, record, err
	}
	if !usable(lease.Tokens, at, request, now) {
		err = errReplaced
	}
	return lease.Tokens, record, errors.Join(err, m.Store.Release(ctx, at.Key, owner, ""))
}

// errChanged means that a call began before its platform changed. Its refresh token must not replace a newer one.
var errChanged = errors.New("the platform has changed since the call began")

// checkCurrent returns errChanged unless the platform still has the URL and the secrets of a token request.
func (m *Manager) checkCurrent(ctx context.Context, at entryKey, request tokenRequest) (err error) {
	current := request.TokenRequest
	if current.Access, err = m.Platforms.Access(ctx, at.Business, at.Platform); err != nil {
		return fmt.Errorf("reading the platform failed: %w", err)
	}
	if resolved, err := resolve(current); err != nil || resolved.digest() != at.digest || resolved.store != at.Store {
		return errChanged
	}
	return nil
}

// usable reports whether stored tokens need not be renewed.
func usable(stored Tokens, at entryKey, request tokenRequest, now time.Time) bool {
	e := entry{token: stored.AccessToken, renewedAt: stored.RenewedAt, expiresAt: stored.ExpiresAt}
	return stored.Digest == at.digest && e.fresh(now) && stored.AccessToken != request.Rejected
}

// leaseSaved takes the lease. If renewed tokens could not be stored before, it stores them first.
func (m *Manager) leaseSaved(ctx context.Context, key Key, owner core.ID) (Lease, error) {
	for {
		lease, err := m.lease(ctx, key, owner)
		if err != nil {
			return lease, err
		}
		m.mu.Lock()
		unsaved, found := m.unsaved[key]
		m.mu.Unlock()
		if !found {
			return lease, nil
		}
		if _, err := m.save(ctx, key, owner, unsaved); err != nil {
			return lease, err
		}
	}
}

// save stores renewed tokens before they are used. It returns false if others were stored since their lease began. If
// it fails, it keeps the tokens for the next renewal.
func (m *Manager) save(ctx context.Context, key Key, owner core.ID, lease Lease) (stored bool, err error) {
	limited, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	for range saveTimeout / pollInterval {
		if stored, err = m.Store.Save(limited, key, owner, lease); err == nil {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.unsaved, key)
			return stored, nil
		}
		core.SleepUntil(limited, m.Clock, m.Clock.Now().Add(pollInterval))
		if limited.Err() != nil {
			break
		}
	}
	m.mu.Lock()
	if m.unsaved == nil {
		m.unsaved = map[Key]Lease{}
	}
	m.unsaved[key] = lease
	m.mu.Unlock()
	return false, errors.Join(fmt.Errorf("storing the renewed tokens failed: %w", err),
		m.Store.Release(ctx, key, owner, ""))
}

// lease takes the lease, and waits while another renewal has it.
func (m *Manager) lease(ctx context.Context, key Key, owner core.ID) (Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	for {
		lease, taken, err := m.Store.Lease(ctx, key, owner, m.Clock.Now().Add(leaseTime))
		if err != nil || taken {
			return lease, err
		}
		core.SleepUntil(ctx, m.Clock, m.Clock.Now().Add(pollInterval))
		if ctx.Err() != nil {
			return lease, errPeer
		}
	}
}
