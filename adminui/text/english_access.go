package text

// Texts of errors of package access.
const (
	ProblemSignIn      = "The email or the password is wrong."
	ProblemTooOften    = "Too many attempts. Retry in 15 minutes."
	ProblemBusy        = "Too many people are signing in at once. Retry in a moment."
	ProblemLink        = "This link was used or has expired. Ask an admin for a new one."
	ProblemUnknown     = "There is no account with this email. Ask an admin for one."
	ProblemPresent     = "The current password is wrong."
	ProblemPassword    = "The password must have %d to %d characters."
	ProblemEmail       = "The email must look like sam@example.com."
	ProblemRole        = "The role must be viewer, support or admin."
	ProblemOwnAccess   = "You cannot remove your own access. Ask another admin."
	ProblemUserChanged = "Nothing was saved, because another admin has changed this user. The page shows the " +
		"current access. Confirm to replace it."
	ProblemUsername  = "The name of a key must have 1 to 64 characters: letters, digits and . _ @ -"
	ProblemScope     = "The scope must be pos or channel."
	ProblemPlatform  = "Only a channel key can have a platform. Leave it empty for a POS key."
	ByProvider       = "Sign in with your organisation"
	OrPassword       = "or with a password"
	ProviderRejected = "The identity provider rejected the sign-in: %s"
)
