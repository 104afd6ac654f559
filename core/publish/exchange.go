package publish

import (
	"time"

	"github.com/servery-hub/servery/core"
)

// Exchange is the request that sent a menu, with the response. It has no headers, so it has no secrets.
type Exchange struct {
	At       time.Time // when it was sent
	Body     []byte    // nil: too large to keep
	Status   int       // 0 without a response
	Response []byte    // the beginning
}

// LastSent is the last menu of a store that was sent to a platform, with its outcome.
type LastSent struct {
	Exchange
	CallID  core.ID
	Version int64 // of the changes
	Size    int   // bytes of the body
	State   State // the outcome; Waiting: the hub resends it, Pending: the platform reports it later
	Message string
}
