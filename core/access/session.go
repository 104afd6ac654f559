package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
)

// The lifetimes of sessions, links and counts.
const (
	SessionIdleTimeout   = 8 * time.Hour      // an unused session
	SessionLifetime      = 3 * 24 * time.Hour // any session
	linkLifetime         = 72 * time.Hour     // a one-time link
	attemptWindow        = 15 * time.Minute   // a sign-in counts this long
	sessionTouchInterval = time.Minute        // how often the use of a session is recorded
)

// The bounds of failed attempts within attemptWindow. An account is counted separately for each address, so that a
// stranger who guesses passwords cannot lock out the owner.
const (
	maxPerAccount = 10 // from one address
	maxPerAddress = 100
	maxPerSession = 10 // of the current password, when it is changed
)

// The bounds of successful sign-ins, because each is stored. Only those who can sign in reach them.
const (
	MaxSessions = 50 // of a user; the least recently used ones end
	maxSignIns  = 30 // and changes of the password, of a user within attemptWindow
)

// Session is a signed-in browser, identified by the hash of its token.
type Session struct {
	Hash      []byte
	User      int64
	CreatedAt time.Time
	SeenAt    time.Time
}

// UserSession is a session and its user.
type UserSession struct {
	Session
	User User
}

// expired reports whether the session has expired, or its user is disabled.
func (s UserSession) expired(now time.Time) bool {
	return !s.User.DisabledAt.IsZero() || now.Sub(s.SeenAt) > SessionIdleTimeout ||
		now.Sub(s.CreatedAt) > SessionLifetime
}

// Sessions stores sessions and one-time links.
type Sessions interface {
	// SessionUser returns a session with its user, or NotFound.
	SessionUser(ctx context.Context, hash []byte) (Session, User, error)
	// SessionUsers returns the existing sessions among hashes, each with its user.
	SessionUsers(ctx context.Context, hashes [][]byte) ([]UserSession, error)
	// StartSession stores a session, ends the session of the hash replaced unless that is nil, and records the sign-in
	// in the audit trail. Of more than MaxSessions of the user it ends the least recently used ones.
	StartSession(ctx context.Context, session Session, replaced []byte, change Change) error
	TouchSession(ctx context.Context, hash []byte, user int64, now time.Time) error
	// EndSessions ends a user's one-time links, and sessions except keep, which may be nil.
	EndSessions(ctx context.Context, user int64, keep []byte) error
	EndSession(ctx context.Context, hash []byte) error
	// CreateLink stores a one-time link and replaces the user's earlier one.
	CreateLink(ctx context.Context, hash []byte, user int64, expires time.Time) error
	// LinkUser returns the user of an unexpired link, or NotFound. It deletes the link if take is set.
	LinkUser(ctx context.Context, hash []byte, now time.Time, take bool) (User, error)
}

// Attempts counts attempts to sign in.
type Attempts interface {
	// CountAttempt records an attempt for each subject, if none of them has reached its bound since the given time.
	// Otherwise it records nothing and returns false. The bound also holds for concurrent calls. Older attempts are
	// deleted.
	CountAttempt(ctx context.Context, subjects []Subject, now, since time.Time) (allowed bool, err error)
	// ForgetAttempts deletes all attempts of the first subject. For the address it deletes only the attempt at that
	// time, because others may be guessing from the same address.
	ForgetAttempts(ctx context.Context, subject, address string, at time.Time) error
}

// Subject is what attempts are counted for, with their bound.
type Subject struct {
	Name  string
	Limit int
}

// Accounts signs people in to the console.
type Accounts struct {
	Users    Users
	Sessions Sessions
	Attempts Attempts
	Domains  []string // their people may sign in through the identity provider without an account; in lower case
	Clock    core.Clock
}

// CreateLink creates a one-time sign-in link for the user and returns its token.
func (a Accounts) CreateLink(ctx context.Context, user int64) (string, error) {
	token := core.NewToken()
	return token, a.Sessions.CreateLink(ctx, core.TokenHash(token), user, a.Clock.Now().Add(linkLifetime))
}

// SignIn checks a password and starts a session. It ends the session of replaced, the previous token of the browser.
func (a Accounts) SignIn(ctx context.Context, email, password, address, replaced string) (token string, err error) {
	email = strings.ToLower(strings.TrimSpace(email))
	if len(email) > 254 {
		return "", ErrSignIn
	}
	from, now := "address/"+subscriberNetwork(address), a.Clock.Now()
	account := "account/" + email + "/" + from
	if err := a.countAttempt(ctx, now, Subject{account, maxPerAccount}, Subject{from, maxPerAddress}); err != nil {
		return "", err
	}
	user, err := a.Users.UserByEmail(ctx, email)
	if err != nil && core.CodeOf(err) != core.NotFound {
		return "", err
	}
	matches, err := passwordMatches(ctx, user.Password, password)
	if err != nil {
		return "", err
	}
	if !matches || !user.DisabledAt.IsZero() {
		return "", ErrSignIn
	}
	// The attempt still counts if the user has signed in too often: further ones are then rejected without a hash.
	if token, err = a.startSession(ctx, user, replaced, "user.sign_in"); err != nil {
		return "", err
	}
	return token, a.Attempts.ForgetAttempts(ctx, account, from, now)
}

// attemptSlots bounds concurrent counts of attempts. Each holds a database connection while it waits for the lock of
// its address.
var attemptSlots = make(chan struct{}, 2)

// countAttempt records an attempt of each subject. It returns ErrTooManyAttempts if one has reached its bound.
func (a Accounts) countAttempt(ctx context.Context, now time.Time, subjects ...Subject) error {
	select {
	case attemptSlots <- struct{}{}:
		defer func() { <-attemptSlots }()
	case <-ctx.Done():
		return ErrBusy
	}
	allowed, err := a.Attempts.CountAttempt(ctx, subjects, now, now.Add(-attemptWindow))
	if err == nil && !allowed {
		return ErrTooManyAttempts
	}
	return err
}

// subscriberNetwork returns the unit in which attempts from an address are counted. It is the address for IPv4 and
// the /64 for IPv6, because one subscriber has a whole /64 (RFC 6177).
func subscriberNetwork(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil || parsed.Is4() {
		return address
	}
	prefix, _ := parsed.Prefix(64) // cannot fail for an IPv6 address
	return prefix.Masked().String()
}

// SignInByProvider starts a session for a person that an identity provider has authenticated. A person without an
// account gets one with no access if the address belongs to one of the Domains, and otherwise ErrNoAccount. It never
// makes anyone an admin or grants a business.
func (a Accounts) SignInByProvider(ctx context.Context, email, replaced string) (token string, err error) {
	email = strings.ToLower(email)
	user, err := a.Users.UserByEmail(ctx, email)
	if core.CodeOf(err) == core.NotFound {
		if _, domain, _ := strings.Cut(email, "@"); !slices.Contains(a.Domains, domain) {
			return "", ErrNoAccount
		}
		user, err = a.Users.CreateUser(ctx, User{Email: email, Role: Viewer, CreatedAt: a.Clock.Now()},
			Change{Actor: "hub", Action: "user.create",
				Why: "first sign-in by the identity provider", After: map[string]any{"email": email, "role": Viewer}})
	}
	if err != nil {
		return "", err
	}
	if !user.DisabledAt.IsZero() {
		return "", ErrNoAccount
	}
	return a.startSession(ctx, user, replaced, "user.sign_in_by_provider")
}

// LinkUser returns the user of a link without using it.
func (a Accounts) LinkUser(ctx context.Context, link string) (User, error) {
	return a.findLink(ctx, link, false)
}

func (a Accounts) findLink(ctx context.Context, link string, take bool) (User, error) {
	user, err := a.Sessions.LinkUser(ctx, core.TokenHash(link), a.Clock.Now(), take)
	if core.CodeOf(err) == core.NotFound || err == nil && !user.DisabledAt.IsZero() {
		return User{}, ErrLink
	}
	return user, err
}

// UseLink uses a link: it sets the password and starts a session. An empty password keeps the existing one.
func (a Accounts) UseLink(ctx context.Context, link, password, replaced string) (token string, err error) {
	user, err := a.findLink(ctx, link, false)
	if err != nil {
		return "", err
	}
	if password != "" || user.Password == "" {
		if err := checkPassword(password); err != nil {
			return "", err
		}
	}
	if user, err = a.findLink(ctx, link, true); err != nil { // only one of two concurrent calls succeeds
		return "", err
	}
	if password != "" {
		if err := a.setPassword(ctx, user, password, "a one-time link"); err != nil {
			return "", err
		}
		if err := a.Sessions.EndSessions(ctx, user.ID, nil); err != nil {
			return "", err
		}
	}
	return a.startSession(ctx, user, replaced, "user.sign_in_by_link")
}

// ChangePassword sets a new password and ends the user's other sessions. Guesses of the current password are limited
// as at sign-in.
func (a Accounts) ChangePassword(ctx context.Context, user User, current, updated, token string) error {
	session, now := fmt.Sprintf("password/%x", core.TokenHash(token)), a.Clock.Now()
	if err := a.countAttempt(ctx, now, Subject{session, maxPerSession}); err != nil {
		return err
	}
	matches, err := passwordMatches(ctx, user.Password, current)
	if err != nil {
		return err
	}
	if !matches {
		return ErrCurrentPassword
	}
	if err := a.countSignIn(ctx, user, now); err != nil {
		return err
	}
	if err := a.Attempts.ForgetAttempts(ctx, session, "", now); err != nil {
		return err
	}
	if err := checkPassword(updated); err != nil {
		return err
	}
	if err := a.setPassword(ctx, user, updated, "the user"); err != nil {
		return err
	}
	return a.Sessions.EndSessions(ctx, user.ID, core.TokenHash(token))
}

func (a Accounts) setPassword(ctx context.Context, user User, password, by string) error {
	stored, err := hashPassword(ctx, password)
	if err != nil {
		return err
	}
	return a.Users.ChangeUser(ctx, user.ID, func(u *User) (Change, error) {
		u.Password = stored
		return Change{Actor: user.Actor(), Action: "user.password", Why: "set by " + by}, nil
	})
}

// countSignIn counts a person who has proved to be the user. It returns ErrTooManyAttempts if that was too often.
func (a Accounts) countSignIn(ctx context.Context, user User, now time.Time) error {
	return a.countAttempt(ctx, now, Subject{fmt.Sprintf("signed-in/%d", user.ID), maxSignIns})
}

// startSession creates a session with a new token.
func (a Accounts) startSession(ctx context.Context, user User, replaced, action string) (string, error) {
	token, now := core.NewToken(), a.Clock.Now()
	if err := a.countSignIn(ctx, user, now); err != nil {
		return "", err
	}
	err := a.Sessions.StartSession(ctx,
		Session{Hash: core.TokenHash(token), User: user.ID, CreatedAt: now, SeenAt: now}, core.TokenHash(replaced),
		Change{Actor: user.Actor(), Action: action, Object: fmt.Sprintf("user/%d", user.ID)})
	return token, err
}

// UserBySession returns the user of a session, or Unauthenticated if it has ended.
func (a Accounts) UserBySession(ctx context.Context, token string) (User, error) {
	if token == "" {
		return User{}, ErrSession
	}
	session, user, err := a.Sessions.SessionUser(ctx, core.TokenHash(token))
	if core.CodeOf(err) == core.NotFound {
		return User{}, ErrSession
	}
	if err != nil {
		return User{}, err
	}
	now := a.Clock.Now()
	if (UserSession{session, user}).expired(now) {
		return User{}, ErrSession
	}
	if now.Sub(session.SeenAt) > sessionTouchInterval {
		err = a.Sessions.TouchSession(ctx, session.Hash, user.ID, now)
	}
	return user, err
}

// UsersBySession returns the users of the active sessions by token. It does not count as use of them.
func (a Accounts) UsersBySession(ctx context.Context, tokens []string) (map[string]User, error) {
	hashes, byHash := make([][]byte, len(tokens)), make(map[string]string, len(tokens))
	for i, token := range tokens {
		hashes[i] = core.TokenHash(token)
		byHash[string(hashes[i])] = token
	}
	list, err := a.Sessions.SessionUsers(ctx, hashes)
	users, now := make(map[string]User, len(list)), a.Clock.Now()
	for _, s := range list {
		if !s.expired(now) {
			users[byHash[string(s.Hash)]] = s.User
		}
	}
	return users, err
}

// SignOut ends a session.
func (a Accounts) SignOut(ctx context.Context, token string) error {
	return a.Sessions.EndSession(ctx, core.TokenHash(token))
}

// FormToken returns the token of a form in a session (CSRF). Another site can send the session's cookie, but cannot
// know this token.
func FormToken(session string) string {
	sum := sha256.Sum256([]byte("form/" + session))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// ValidFormToken reports whether the token belongs to the session.
func ValidFormToken(session, token string) bool {
	return session != "" && subtle.ConstantTimeCompare([]byte(FormToken(session)), []byte(token)) == 1
}
