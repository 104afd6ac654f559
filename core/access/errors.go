package access

import "github.com/servery-hub/servery/core"

// The errors of sign-in and access. The console has its own text for each; these messages are for programs.
var (
	ErrSignIn   = core.Errorf(core.Unauthenticated, "this address and password do not belong together")
	ErrTooOften = &core.Error{Code: core.Throttled, RetryAfter: attemptLife,
		Message: "too many attempts; try again in 15 minutes"}
	ErrBusy      = core.Errorf(core.Unavailable, "too many people are signing in at once; try again")
	ErrLink      = core.Errorf(core.NotFound, "this link has been used or has expired; ask an admin for a new one")
	ErrSession   = core.Errorf(core.Unauthenticated, "sign in first")
	ErrUnknown   = core.Errorf(core.Forbidden, "there is no account with this address; ask an admin for one")
	ErrPresent   = core.Errorf(core.Invalid, "the present password is not right")
	ErrPassword  = core.Errorf(core.Invalid, "the password must have %d to %d characters", MinPassword, MaxPassword)
	ErrEmail     = core.Errorf(core.Invalid, "email must be an address such as sam@example.com")
	ErrRole      = core.Errorf(core.Invalid, "role must be viewer, support or admin")
	ErrOwnAccess = core.Errorf(core.Conflict, "you cannot take your own access away; ask another admin")
	ErrUsername  = core.Errorf(core.Invalid, "username must be 1 to 64 of letters, digits and . _ @ -")
	ErrScope     = core.Errorf(core.Invalid, "scope must be pos or channel")
	ErrPlatform  = core.Errorf(core.Invalid, "platform is of a key with scope channel alone")
)
