package console

import "github.com/servery-hub/servery/core"

// Login is a login of a merchant at an aggregator, for a credential of a platform.
type Login struct {
	Business   core.BusinessID
	Platform   core.Platform
	Credential string
	Secret     string // from core.NewToken; only the browser that began the login has it
	Back       string // the URL of the hub where the aggregator redirects
}
