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

// How long things last.
const (
	SessionIdle = 8 * time.Hour      // a session that is not used
	SessionLife = 3 * 24 * time.Hour // a session at most
	linkLife    = 72 * time.Hour     // a one-time link
	attemptLife = 15 * time.Minute   // a failed sign-in, in the count of them
	seenEvery   = time.Minute        // how often the use of a session is noted
)

// Failed attempts in attemptLife after which no more are looked at. An account is
// counted for each address by itself: a stranger who guesses does not lock the owner out.
const (
	maxPerAccount = 10 // from one address
	maxPerAddress = 100
	maxPerSession = 10 // of the present password, when it is changed
)

// Session is a signed-in browser, known by the hash of its token.
type Session struct {
	Hash      []byte
	User      int64
	CreatedAt time.Time
	SeenAt    time.Time
}

// SignedIn is a session and its user.
type SignedIn struct {
	Session
	User User
}

// over tells whether the session has ended at a time, by itself or with its user's access.
func (s SignedIn) over(now time.Time) bool {
	return !s.User.DisabledAt.IsZero() || now.Sub(s.SeenAt) > SessionIdle || now.Sub(s.CreatedAt) > SessionLife
}

// Sessions keeps sessions and one-time links.
type Sessions interface {
	// SessionUser reads a session with its user; NotFound when there is none.
	SessionUser(ctx context.Context, hash []byte) (Session, User, error)
	// SessionUsers reads those of the sessions that there are, each with its user.
	SessionUsers(ctx context.Context, hashes [][]byte) ([]SignedIn, error)
	// StartSession stores a session in place of another, which may be nil; the
	// sign-in goes into the audit trail.
	StartSession(ctx context.Context, session Session, instead []byte, change Change) error
	TouchSession(ctx context.Context, hash []byte, user int64, now time.Time) error
	// EndSessions ends the sessions of a user but the one to keep, which may be nil,
	// and the one-time links.
	EndSessions(ctx context.Context, user int64, keep []byte) error
	EndSession(ctx context.Context, hash []byte) error
	// CreateLink stores a one-time link in place of an earlier one of the user.
	CreateLink(ctx context.Context, hash []byte, user int64, expires time.Time) error
	// LinkUser reads the user of a link that has not expired, and takes the link
	// away if told to; NotFound when there is none.
	LinkUser(ctx context.Context, hash []byte, now time.Time, take bool) (User, error)
}

// Attempts counts attempts to sign in.
type Attempts interface {
	// CountAttempt notes an attempt for each subject, where none of them has had as
	// many as it may since the given time; else it notes none and says no. Of those
	// that ask at once, no more than that many get a yes. Older ones are forgotten.
	CountAttempt(ctx context.Context, subjects []Subject, now, since time.Time) (allowed bool, err error)
	// ForgetAttempts forgets all attempts of the first subject, and of the second the
	// one counted at that moment: others may be guessing from that address.
	ForgetAttempts(ctx context.Context, subject, address string, at time.Time) error
}

// Subject is whose attempts are counted, and how many it may have.
type Subject struct {
	Name string
	Most int
}

// Accounts signs people in to the console.
type Accounts struct {
	Users    Users
	Sessions Sessions
	Attempts Attempts
	Domains  []string // whose people may come by the identity provider without being made first; in lower case
	Clock    core.Clock
}

// Link makes a link by which the user can sign in once; the text is the token in it.
func (a Accounts) Link(ctx context.Context, user int64) (string, error) {
	token := core.NewToken()
	return token, a.Sessions.CreateLink(ctx, core.TokenHash(token), user, a.Clock.Now().Add(linkLife))
}

// SignIn checks a password and starts a session. replaced is the token that the
// browser showed before, which is worth nothing from now on.
func (a Accounts) SignIn(ctx context.Context, email, password, address, replaced string) (token string, err error) {
	email = strings.ToLower(strings.TrimSpace(email))
	if len(email) > 254 {
		return "", ErrSignIn
	}
	from, now := "address/"+network(address), a.Clock.Now()
	account := "account/" + email + "/" + from
	if err := a.count(ctx, now, Subject{account, maxPerAccount}, Subject{from, maxPerAddress}); err != nil {
		return "", err
	}
	user, err := a.Users.UserByEmail(ctx, email)
	if err != nil && core.CodeOf(err) != core.NotFound {
		return "", err
	}
	right, err := passwordIs(ctx, user.Password, password)
	if err != nil {
		return "", err
	}
	if !right || !user.DisabledAt.IsZero() {
		return "", ErrSignIn
	}
	if err := a.Attempts.ForgetAttempts(ctx, account, from, now); err != nil {
		return "", err
	}
	return a.start(ctx, user, replaced, "user.sign_in")
}

// count notes an attempt of each subject; ErrTooOften where one has had its share.
func (a Accounts) count(ctx context.Context, now time.Time, subjects ...Subject) error {
	allowed, err := a.Attempts.CountAttempt(ctx, subjects, now, now.Add(-attemptLife))
	if err == nil && !allowed {
		return ErrTooOften
	}
	return err
}

// network is whose attempts from an address count together: an IPv4 address, or the /64
// of an IPv6 address, which is what one subscriber has (RFC 6177).
func network(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil || parsed.Is4() {
		return address
	}
	prefix, _ := parsed.Prefix(64) // never fails for an IPv6 address
	return prefix.Masked().String()
}

// SignInAs starts a session for the person whose address an identity provider
// has vouched for. Who has no account gets one that sees nothing yet, where the
// address is of one of the Domains; else ErrUnknown. Nobody becomes an admin, or
// is granted a business, by it.
func (a Accounts) SignInAs(ctx context.Context, email, replaced string) (token string, err error) {
	email = strings.ToLower(email)
	user, err := a.Users.UserByEmail(ctx, email)
	if core.CodeOf(err) == core.NotFound {
		if _, domain, _ := strings.Cut(email, "@"); !slices.Contains(a.Domains, domain) {
			return "", ErrUnknown
		}
		user, err = a.Users.CreateUser(ctx, User{Email: email, Role: Viewer, CreatedAt: a.Clock.Now()}, Change{Actor: "hub", Action: "user.create",
			Why: "first sign-in by the identity provider", After: map[string]any{"email": email, "role": Viewer}})
	}
	if err != nil {
		return "", err
	}
	if !user.DisabledAt.IsZero() {
		return "", ErrUnknown
	}
	return a.start(ctx, user, replaced, "user.sign_in_by_provider")
}

// LinkUser tells whose link it is, without using it up.
func (a Accounts) LinkUser(ctx context.Context, link string) (User, error) {
	return a.link(ctx, link, false)
}

func (a Accounts) link(ctx context.Context, link string, take bool) (User, error) {
	user, err := a.Sessions.LinkUser(ctx, core.TokenHash(link), a.Clock.Now(), take)
	if core.CodeOf(err) == core.NotFound || err == nil && !user.DisabledAt.IsZero() {
		return User{}, ErrLink
	}
	return user, err
}

// UseLink uses a link up: it sets the password, which may be left as it is
// where there is one, and starts a session.
func (a Accounts) UseLink(ctx context.Context, link, password, replaced string) (token string, err error) {
	user, err := a.link(ctx, link, false)
	if err != nil {
		return "", err
	}
	if password != "" || user.Password == "" {
		if err := checkPassword(password); err != nil {
			return "", err
		}
	}
	if user, err = a.link(ctx, link, true); err != nil { // only one of two at once gets it
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
	return a.start(ctx, user, replaced, "user.sign_in_by_link")
}

// ChangePassword sets a new password and ends the user's other sessions. A session may
// guess the present password as seldom as a stranger who signs in.
func (a Accounts) ChangePassword(ctx context.Context, user User, present, fresh, token string) error {
	session, now := fmt.Sprintf("password/%x", core.TokenHash(token)), a.Clock.Now()
	if err := a.count(ctx, now, Subject{session, maxPerSession}); err != nil {
		return err
	}
	right, err := passwordIs(ctx, user.Password, present)
	if err != nil {
		return err
	}
	if !right {
		return ErrPresent
	}
	if err := a.Attempts.ForgetAttempts(ctx, session, "", now); err != nil {
		return err
	}
	if err := checkPassword(fresh); err != nil {
		return err
	}
	if err := a.setPassword(ctx, user, fresh, "the user"); err != nil {
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

// start makes a session under a token that nobody had before.
func (a Accounts) start(ctx context.Context, user User, replaced, action string) (string, error) {
	token, now := core.NewToken(), a.Clock.Now()
	err := a.Sessions.StartSession(ctx, Session{Hash: core.TokenHash(token), User: user.ID, CreatedAt: now, SeenAt: now}, core.TokenHash(replaced),
		Change{Actor: user.Actor(), Action: action, Object: fmt.Sprintf("user/%d", user.ID)})
	return token, err
}

// Visitor finds the user of a session; Unauthenticated when it is over.
func (a Accounts) Visitor(ctx context.Context, token string) (User, error) {
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
	if (SignedIn{session, user}).over(now) {
		return User{}, ErrSession
	}
	if now.Sub(session.SeenAt) > seenEvery {
		err = a.Sessions.TouchSession(ctx, session.Hash, user.ID, now)
	}
	return user, err
}

// Visitors finds the users of those sessions that are not over, by their tokens. It does
// not count as use of them.
func (a Accounts) Visitors(ctx context.Context, tokens []string) (map[string]User, error) {
	hashes, byHash := make([][]byte, len(tokens)), make(map[string]string, len(tokens))
	for i, token := range tokens {
		hashes[i] = core.TokenHash(token)
		byHash[string(hashes[i])] = token
	}
	list, err := a.Sessions.SessionUsers(ctx, hashes)
	users, now := make(map[string]User, len(list)), a.Clock.Now()
	for _, s := range list {
		if !s.over(now) {
			users[byHash[string(s.Hash)]] = s.User
		}
	}
	return users, err
}

// SignOut ends a session.
func (a Accounts) SignOut(ctx context.Context, token string) error {
	return a.Sessions.EndSession(ctx, core.TokenHash(token))
}

// FormToken proves that a form was made for the session: another site can send
// the session's cookie along, but cannot know this.
func FormToken(session string) string {
	sum := sha256.Sum256([]byte("form/" + session))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// FormTokenIs tells whether a form was made for the session.
func FormTokenIs(session, token string) bool {
	return session != "" && subtle.ConstantTimeCompare([]byte(FormToken(session)), []byte(token)) == 1
}
