package access

import (
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
)

// UsedKey names a key.
type UsedKey struct {
	Business core.BusinessID
	ID       int64
}

// Uses notes in memory when keys were last shown, until it is stored. It may be
// used by many goroutines and holds one entry a key; a crash loses what was not
// yet stored.
type Uses struct {
	mu sync.Mutex
	at map[UsedKey]time.Time
}

func (u *Uses) note(key Key, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil {
		u.at = map[UsedKey]time.Time{}
	}
	u.at[UsedKey{key.Business, key.ID}] = now
}

// Take hands over the latest use of each key since it was last called.
func (u *Uses) Take() map[UsedKey]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	at := u.at
	u.at = nil
	return at
}
