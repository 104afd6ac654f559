package text

// Words of what cannot be done, for errors of the package access.
const (
	ProblemSignIn    = "This address and password do not belong together."
	ProblemTooOften  = "Too many attempts. Try again in 15 minutes."
	ProblemBusy      = "Too many people are signing in at once. Try again."
	ProblemLink      = "This link has been used or has expired. Ask an admin for a new one."
	ProblemUnknown   = "There is no account with this address. Ask an admin for one."
	ProblemPresent   = "The present password is not right."
	ProblemPassword  = "The password must have %d to %d characters."
	ProblemEmail     = "The e-mail must be an address such as sam@example.com."
	ProblemRole      = "The role must be viewer, support or admin."
	ProblemOwnAccess = "You cannot take your own access away. Ask another admin."
	ProblemUsername  = "The name of a key must be 1 to 64 of letters, digits and . _ @ -"
	ProblemScope     = "The scope must be pos or channel."
	ProblemPlatform  = "Only a channel key is for one platform; leave it empty for a key of the POS."
	ByProvider       = "Sign in with your organisation"
	OrPassword       = "or with a password"
	ProviderRefused  = "The identity provider did not let you in: %s"
)
