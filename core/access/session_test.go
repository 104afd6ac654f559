package access

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
)

// fakeAccounts stores one user with a password, and sign-in attempts.
type fakeAccounts struct {
	Sessions
	user     User
	attempts map[string][]time.Time
}

func (p *fakeAccounts) UserByEmail(_ context.Context, email string) (User, error) {
	if email != p.user.Email {
		return User{}, core.Errorf(core.NotFound, "no such user")
	}
	return p.user, nil
}

func (p *fakeAccounts) CreateUser(context.Context, User, Change) (User, error) {
	return User{}, errors.New("not expected")
}

func (p *fakeAccounts) ChangeUser(_ context.Context, _ int64, decide func(*User) (Change, error)) error {
	_, err := decide(&p.user)
	return err
}

func (p *fakeAccounts) StartSession(context.Context, Session, []byte, Change) error { return nil }
func (p *fakeAccounts) EndSessions(context.Context, int64, []byte) error            { return nil }

func (p *fakeAccounts) CountAttempt(_ context.Context, subjects []Subject, now, since time.Time) (bool, error) {
	for _, s := range subjects {
		recent := 0
		for _, at := range p.attempts[s.Name] {
			if !at.Before(since) {
				recent++
			}
		}
		if recent >= s.Limit {
			return false, nil
		}
	}
	for _, s := range subjects {
		p.attempts[s.Name] = append(p.attempts[s.Name], now)
	}
	return true, nil
}

func (p *fakeAccounts) ForgetAttempts(_ context.Context, subject, _ string, _ time.Time) error {
	delete(p.attempts, subject)
	return nil
}

const rightPassword = "correct horse battery"

func newAccounts(t *testing.T) (Accounts, *clocktest.Clock) {
	t.Helper()
	stored, err := hashPassword(t.Context(), rightPassword)
	require.NoError(t, err)
	p := &fakeAccounts{user: User{ID: 1, Email: "sam@example.com", Role: Admin, Password: stored},
		attempts: map[string][]time.Time{}}
	clock := clocktest.New()
	return Accounts{Users: p, Sessions: p, Attempts: p, Clock: clock}, clock
}

func TestStrangerDoesNotLockOwnerOut(t *testing.T) {
	a, clock := newAccounts(t)
	enter := func(password, address string) error {
		_, err := a.SignIn(t.Context(), "sam@example.com", password, address, "")
		return err
	}
	for range maxPerAccount {
		require.ErrorIs(t, enter("wrong", "203.0.113.7"), ErrSignIn)
	}
	require.ErrorIs(t, enter(rightPassword, "203.0.113.7"), ErrTooManyAttempts)
	require.NoError(t, enter(rightPassword, "203.0.113.8"))

	for range maxPerAccount { // addresses of one IPv6 network count together
		require.ErrorIs(t, enter("wrong", "2001:db8::1"), ErrSignIn)
	}
	require.ErrorIs(t, enter(rightPassword, "2001:db8::2"), ErrTooManyAttempts)
	require.NoError(t, enter(rightPassword, "2001:db8:0:1::2"))

	clock.Advance(attemptWindow + time.Second)
	require.NoError(t, enter(rightPassword, "203.0.113.7"))
}

func TestSessionMayGuessItsPasswordTenTimes(t *testing.T) {
	a, clock := newAccounts(t)
	user, err := a.Users.UserByEmail(t.Context(), "sam@example.com")
	require.NoError(t, err)
	change := func(present, session string) error {
		return a.ChangePassword(t.Context(), user, present, "another long password", session)
	}
	for range maxPerSession {
		require.ErrorIs(t, change("wrong", "one"), ErrCurrentPassword)
	}
	require.ErrorIs(t, change(rightPassword, "one"), ErrTooManyAttempts)
	require.NoError(t, change(rightPassword, "two"))
	clock.Advance(attemptWindow + time.Second)
	require.NoError(t, change(rightPassword, "one"))
}

func TestSuccessfulSignInsAreLimited(t *testing.T) {
	a, clock := newAccounts(t)
	enter := func(address string) error {
		_, err := a.SignIn(t.Context(), "sam@example.com", rightPassword, address, "")
		return err
	}
	user, err := a.Users.UserByEmail(t.Context(), "sam@example.com")
	require.NoError(t, err)
	for n := range maxSignIns - 2 {
		require.NoError(t, enter(fmt.Sprint("203.0.113.", n%9)))
	}
	_, err = a.SignInByProvider(t.Context(), "sam@example.com", "")
	require.NoError(t, err)
	require.NoError(t, a.ChangePassword(t.Context(), user, rightPassword, rightPassword, "one"))
	_, err = a.SignInByProvider(t.Context(), "sam@example.com", "")
	require.ErrorIs(t, err, ErrTooManyAttempts)
	require.ErrorIs(t, a.ChangePassword(t.Context(), user, rightPassword, rightPassword, "one"), ErrTooManyAttempts)
	for range maxPerAccount {
		require.ErrorIs(t, enter("203.0.113.7"), ErrTooManyAttempts)
	}
	for range cap(hashSlots) {
		hashSlots <- struct{}{}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = a.SignIn(ended, "sam@example.com", rightPassword, "203.0.113.8", "")
	require.ErrorIs(t, err, ErrBusy, "it waits for a hash")
	require.ErrorIs(t, enter("203.0.113.7"), ErrTooManyAttempts)
	for range cap(hashSlots) {
		<-hashSlots
	}
	clock.Advance(attemptWindow + time.Second)
	require.NoError(t, enter("203.0.113.7"))
}

// slowAttempts is a count of attempts that waits for a lock.
type slowAttempts struct {
	*fakeAccounts
	entered, locked chan struct{}
}

func (s slowAttempts) CountAttempt(ctx context.Context, _ []Subject, _, _ time.Time) (bool, error) {
	s.entered <- struct{}{}
	select {
	case <-s.locked:
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func TestTwoSignInsAreCountedAtOnce(t *testing.T) {
	accounts, _ := newAccounts(t)
	slow := slowAttempts{entered: make(chan struct{}, 10), locked: make(chan struct{})}
	accounts.Attempts = slow
	signIn := func(ctx context.Context) error {
		_, err := accounts.SignIn(ctx, "sam@example.com", rightPassword, "192.0.2.1", "")
		return err
	}
	var first sync.WaitGroup
	for range 2 {
		first.Go(func() { assert.ErrorIs(t, signIn(t.Context()), ErrTooManyAttempts) })
		<-slow.entered
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, signIn(ctx), ErrBusy, "it waits without a database connection")
	close(slow.locked)
	first.Wait()
	require.ErrorIs(t, signIn(t.Context()), ErrTooManyAttempts)
	require.Equal(t, max(1, min(4, runtime.GOMAXPROCS(0)/2)), cap(hashSlots))
}
