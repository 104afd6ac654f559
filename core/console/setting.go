package console

import (
	"time"

	"github.com/servery-hub/servery/core"
)

// PlatformSettings is a platform of a business as it is set up. Secrets are
// named, never told.
type PlatformSettings struct {
	core.Platform
	Settings  []byte               // a JSON object, or nothing
	Addresses map[string]string    // by name of endpoint
	Secrets   map[string]time.Time // when each was set; zero where that is not known
	Keys      []time.Time          // when the keys were made by which it may call the hub, the newest first
	Version   string               // differs once something of it was changed
}
