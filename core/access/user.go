package access

import (
	"context"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
)

// Role is what a user of the console may do.
type Role string

// The roles: a viewer reads, a supporter also acts, both in the businesses that
// they are granted; an admin does everything everywhere.
const (
	Viewer  Role = "viewer"
	Support Role = "support"
	Admin   Role = "admin"
)

// Roles lists the roles, the least first.
func Roles() []Role { return []Role{Viewer, Support, Admin} }

// AtLeast tells whether the role may do what the other may.
func (r Role) AtLeast(other Role) bool {
	return slices.Index(Roles(), r) >= slices.Index(Roles(), other)
}

// User is a person who uses the console.
type User struct {
	ID         int64
	Email      string // in lower case
	Role       Role
	Password   string            // argon2id in PHC form; "" before the first sign-in
	Businesses []core.BusinessID // granted, in order; of no meaning for an admin
	CreatedAt  time.Time
	SeenAt     time.Time // zero before the first sign-in
	DisabledAt time.Time // zero while the user may sign in
}

// Sees tells whether the user may know of the business.
func (u User) Sees(business core.BusinessID) bool {
	return u.Role == Admin || slices.Contains(u.Businesses, business)
}

// Actor is the user's name in the audit trail.
func (u User) Actor() string { return "user:" + u.Email }

// Change is an entry of the audit trail: who did what to what, and why. Before
// and After hold what was changed, under the names of its fields.
type Change struct {
	Business core.BusinessID // 0: of the hub itself
	Actor    string          // user:EMAIL, cli, hub
	Action   string          // such as webhook.pause
	Object   string          // such as webhook/17
	Why      string
	Before   map[string]any
	After    map[string]any
}

// Users keeps the users of the console. Each write stores the change it makes
// in the audit trail, in the same transaction.
type Users interface {
	UserByEmail(ctx context.Context, email string) (User, error) // NotFound when there is none
	// CreateUser is a Conflict when the address is taken, NotFound when a business does not exist.
	CreateUser(ctx context.Context, user User, change Change) (User, error)
	// ChangeUser stores what decide makes of the user; NotFound when there is none of that id.
	ChangeUser(ctx context.Context, id int64, decide func(*User) (Change, error)) error
}

// CreateUser makes a user without a password and a link by which they sign in once.
func (a Accounts) CreateUser(ctx context.Context, user User, actor, why string) (User, string, error) {
	address, err := mail.ParseAddress(user.Email)
	if err != nil || address.Address != strings.TrimSpace(user.Email) || len(user.Email) > 254 {
		return user, "", ErrEmail
	}
	if !slices.Contains(Roles(), user.Role) {
		return user, "", ErrRole
	}
	user.Email, user.CreatedAt = strings.ToLower(address.Address), a.Clock.Now()
	if user.Role == Admin {
		user.Businesses = nil
	}
	user, err = a.Users.CreateUser(ctx, user, Change{Actor: actor, Action: "user.create", Why: why,
		After: map[string]any{"email": user.Email, "role": user.Role, "businesses": user.Businesses}})
	if err != nil {
		return user, "", err
	}
	link, err := a.Link(ctx, user.ID)
	return user, link, err
}

// ChangeUser sets role, grants and whether the user may sign in. An admin
// cannot take the own role away, so that one remains.
func (a Accounts) ChangeUser(ctx context.Context, by User, id int64, role Role, businesses []core.BusinessID, disabled bool, why string) error {
	if !slices.Contains(Roles(), role) {
		return ErrRole
	}
	if id == by.ID && (role != Admin || disabled) {
		return ErrOwnAccess
	}
	if role == Admin {
		businesses = nil
	}
	err := a.Users.ChangeUser(ctx, id, func(u *User) (Change, error) {
		change := Change{Actor: by.Actor(), Action: "user.change", Why: why, Before: u.told()}
		u.Role, u.Businesses = role, businesses
		switch {
		case !disabled:
			u.DisabledAt = time.Time{}
		case u.DisabledAt.IsZero():
			u.DisabledAt = a.Clock.Now()
		}
		change.After = u.told()
		return change, nil
	})
	if err == nil && disabled {
		err = a.Sessions.EndSessions(ctx, id, nil)
	}
	return err
}

// told is what the audit trail says of a user.
func (u User) told() map[string]any {
	return map[string]any{"role": u.Role, "businesses": u.Businesses, "disabled": !u.DisabledAt.IsZero()}
}

// LinkFor makes a one-time link for a user at the wish of another, which the
// audit trail tells.
func (a Accounts) LinkFor(ctx context.Context, by, user User, why string) (string, error) {
	err := a.Users.ChangeUser(ctx, user.ID, func(*User) (Change, error) {
		return Change{Actor: by.Actor(), Action: "user.link", Why: why}, nil
	})
	if err != nil {
		return "", err
	}
	return a.Link(ctx, user.ID)
}
