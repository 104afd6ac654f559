package access

import "github.com/servery-hub/servery/core"

// The errors of sign-in and access. The console has its own text for each; these messages are for programs.
var (
	ErrSignIn          = core.Errorf(core.Unauthenticated, "wrong e-mail address or password")
	ErrTooManyAttempts = &core.Error{Code: core.Throttled, RetryAfter: attemptWindow,
		Message: "too many attempts: retry in 15 minutes"}
	ErrBusy      = core.Errorf(core.Unavailable, "too many sign-ins at once: retry")
	ErrLink      = core.Errorf(core.NotFound, "this link is used or expired: ask an admin for a new one")
	ErrSession   = core.Errorf(core.Unauthenticated, "sign in first")
	ErrNoAccount = core.Errorf(core.Forbidden,
		"there is no account with this e-mail address: ask an admin for one")
	ErrCurrentPassword = core.Errorf(core.Invalid, "the current password is wrong")
	ErrPassword        = core.Errorf(core.Invalid, "the password must have %d to %d characters", MinPassword,
		MaxPassword)
	ErrEmail       = core.Errorf(core.Invalid, "email must be an e-mail address such as sam@example.com")
	ErrRole        = core.Errorf(core.Invalid, "role must be viewer, support or admin")
	ErrOwnAccess   = core.Errorf(core.Conflict, "you cannot remove your own access: ask another admin")
	ErrUserChanged = core.Errorf(core.Conflict, "the access of the user has changed: read it again")
	ErrUsername    = core.Errorf(core.Invalid, "username must be 1 to 64 of letters, digits, ., _, @ and -")
	ErrScope       = core.Errorf(core.Invalid, "scope must be pos or channel")
	ErrPlatform    = core.Errorf(core.Invalid, "platform is only for a key with scope channel")
)
