package access

import (
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
)

// KeyRef identifies a key.
type KeyRef struct {
	Business core.BusinessID
	ID       int64
}

// KeyUsage records in memory when keys were last used, until that is stored. It is safe for concurrent use and has one
// entry for each key. A crash loses the entries that were not stored.
type KeyUsage struct {
	mu       sync.Mutex
	lastUsed map[KeyRef]time.Time
}

func (u *KeyUsage) record(key Key, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.lastUsed == nil {
		u.lastUsed = map[KeyRef]time.Time{}
	}
	u.lastUsed[KeyRef{key.Business, key.ID}] = now
}

// Take returns and clears the latest use of each key.
func (u *KeyUsage) Take() map[KeyRef]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	at := u.lastUsed
	u.lastUsed = nil
	return at
}

// Restore adds uses that could not be stored, for the next Take.
func (u *KeyUsage) Restore(uses map[KeyRef]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.lastUsed == nil {
		u.lastUsed = map[KeyRef]time.Time{}
	}
	for key, at := range uses {
		if at.After(u.lastUsed[key]) {
			u.lastUsed[key] = at
		}
	}
}
