package access

import (
	"cmp"
	"context"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
)

// Role is the set of permissions of a console user.
type Role string

// The roles. A viewer reads and a supporter also acts, both in the businesses that they are granted. An admin may do
// everything.
const (
	Viewer  Role = "viewer"
	Support Role = "support"
	Admin   Role = "admin"
)

// Roles returns the roles, from least to most privileged.
func Roles() []Role { return []Role{Viewer, Support, Admin} }

// AtLeast reports whether the role includes the permissions of the other.
func (r Role) AtLeast(other Role) bool {
	return slices.Index(Roles(), r) >= slices.Index(Roles(), other)
}

// User is a person who uses the console.
type User struct {
	ID         int64
	Email      string // in lower case
	Role       Role
	Password   string            // argon2id in PHC form; "" before the first sign-in
	Businesses []core.BusinessID // granted, in order; ignored for an admin
	CreatedAt  time.Time
	SeenAt     time.Time // zero before the first sign-in
	DisabledAt time.Time // zero while the user is enabled
}

// CanAccess reports whether the user has access to the business.
func (u User) CanAccess(business core.BusinessID) bool {
	return u.Role == Admin || slices.Contains(u.Businesses, business)
}

// Actor returns the user's name for the audit trail.
func (u User) Actor() string { return "user:" + u.Email }

// Change is an entry of the audit trail: who did what to what, and why. Before and After contain the changed fields
// by name.
type Change struct {
	Business core.BusinessID // 0: the hub itself
	Actor    string          // user:EMAIL, cli, hub
	Action   string          // such as webhook.pause
	Object   string          // such as webhook/17
	Why      string
	Before   map[string]any
	After    map[string]any
}

// Users stores the users of the console. Each write also stores its change in the audit trail, in the same
// transaction.
type Users interface {
	UserByEmail(ctx context.Context, email string) (User, error) // or NotFound
	// CreateUser returns Conflict if the address is taken, and NotFound for an unknown business.
	CreateUser(ctx context.Context, user User, change Change) (User, error)
	// ChangeUser stores the user as modified by decide, unless the action of the change is empty. It returns NotFound
	// for an unknown id.
	ChangeUser(ctx context.Context, id int64, decide func(*User) (Change, error)) error
}

// CreateUser creates a user without a password, and a link for the first sign-in.
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
	link, err := a.CreateLink(ctx, user.ID)
	return user, link, err
}

// Invitation is a user with the token of a one-time link, and what Invite did.
type Invitation struct {
	User    User
	Token   string
	Created bool // the address was unknown before
	Changed bool // the role or the grants of an existing user changed
}

// Invite creates a user, by default with the role Support, and a one-time link. An existing user with the address gets
// the given role, unless it is "", and the given businesses in addition to those already granted.
func (a Accounts) Invite(ctx context.Context, user User, actor, why string) (Invitation, error) {
	role := user.Role
	user.Role = cmp.Or(role, Support)
	created, token, err := a.CreateUser(ctx, user, actor, why)
	if core.CodeOf(err) != core.Conflict {
		return Invitation{User: created, Token: token, Created: true}, err
	}
	found, err := a.Users.UserByEmail(ctx, strings.ToLower(strings.TrimSpace(user.Email)))
	if err != nil {
		return Invitation{}, err
	}
	wanted := found.extended(role, user.Businesses)
	changed := wanted.Role != found.Role || !slices.Equal(wanted.Businesses, found.Businesses)
	if changed {
		err = a.Users.ChangeUser(ctx, found.ID, func(u *User) (Change, error) {
			change := Change{Actor: actor, Action: "user.change", Why: why, Before: u.auditFields()}
			*u = u.extended(role, user.Businesses)
			change.After = u.auditFields()
			wanted = *u
			return change, nil
		})
		if err != nil {
			return Invitation{}, err
		}
	}
	token, err = a.CreateLink(ctx, found.ID)
	return Invitation{User: wanted, Token: token, Changed: changed}, err
}

// extended returns the user with another role, unless it is "", and with more businesses. An admin has none.
func (u User) extended(role Role, businesses []core.BusinessID) User {
	u.Role = cmp.Or(role, u.Role)
	u.Businesses = slices.Concat(u.Businesses, businesses)
	slices.Sort(u.Businesses)
	u.Businesses = slices.Compact(u.Businesses)
	if u.Role == Admin {
		u.Businesses = nil
	}
	return u
}

// UserUpdate is the new state of a user.
type UserUpdate struct {
	Role       Role
	Businesses []core.BusinessID // granted; ignored for an admin
	Disabled   bool
	Seen       string // AccessVersion of the user that the update is based on
}

// AccessVersion returns a text that differs after a change of the role, the grants or whether the user is disabled.
func (u User) AccessVersion() string {
	return fmt.Sprintf("%s %d %t", u.Role, u.Businesses, !u.DisabledAt.IsZero())
}

// ChangeUser sets the role, the grants and whether the user is disabled. It returns ErrUserChanged if these are neither
// as in update.Seen nor as wanted. A form that is submitted twice changes nothing the second time. Admins cannot
// demote themselves, so that at least one remains.
func (a Accounts) ChangeUser(ctx context.Context, by User, id int64, update UserUpdate, why string) error {
	if !slices.Contains(Roles(), update.Role) {
		return ErrRole
	}
	if id == by.ID && (update.Role != Admin || update.Disabled) {
		return ErrOwnAccess
	}
	err := a.Users.ChangeUser(ctx, id, func(u *User) (Change, error) {
		wanted := u.updated(update, a.Clock.Now())
		switch u.AccessVersion() {
		case wanted.AccessVersion():
			return Change{}, nil
		case update.Seen:
		default:
			return Change{}, ErrUserChanged
		}
		change := Change{Actor: by.Actor(), Action: "user.change", Why: why, Before: u.auditFields(),
			After: wanted.auditFields()}
		*u = wanted
		return change, nil
	})
	if err == nil && update.Disabled {
		err = a.Sessions.EndSessions(ctx, id, nil)
	}
	return err
}

// updated returns the user in the new state, with the businesses in the order in which they are stored.
func (u User) updated(update UserUpdate, now time.Time) User {
	u.Businesses = nil
	u = u.extended(update.Role, update.Businesses)
	switch {
	case !update.Disabled:
		u.DisabledAt = time.Time{}
	case u.DisabledAt.IsZero():
		u.DisabledAt = now
	}
	return u
}

// auditFields returns the fields of a user for the audit trail.
func (u User) auditFields() map[string]any {
	return map[string]any{"role": u.Role, "businesses": u.Businesses, "disabled": !u.DisabledAt.IsZero()}
}

// CreateLinkFor creates a one-time link for a user on behalf of another, and records that in the audit trail.
func (a Accounts) CreateLinkFor(ctx context.Context, by, user User, why string) (string, error) {
	err := a.Users.ChangeUser(ctx, user.ID, func(*User) (Change, error) {
		return Change{Actor: by.Actor(), Action: "user.link", Why: why}, nil
	})
	if err != nil {
		return "", err
	}
	return a.CreateLink(ctx, user.ID)
}
