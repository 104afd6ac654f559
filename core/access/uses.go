package access

import (
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
)

// UsedKey identifies a key.
type UsedKey struct {
	Business core.BusinessID
	ID       int64
}

// Uses records in memory when keys were last used, until that is stored. It is safe for concurrent use and has one
// entry for each key. A crash loses the entries that were not stored.
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

// Take returns and clears the latest use of each key.
func (u *Uses) Take() map[UsedKey]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	at := u.at
	u.at = nil
	return at
}
