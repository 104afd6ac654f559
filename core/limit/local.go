package limit

import (
	"context"
	"sync"

	"github.com/servery-hub/servery/core"
)

// maxLocal bounds the states of a LocalStates, twice.
const maxLocal = 2000

// LocalStates stores the states of throttles in memory, for one replica. Of more than maxLocal states it forgets those
// that were not used lately.
type LocalStates struct {
	mu            sync.Mutex
	recent, older map[localKey][]byte
}

type localKey struct {
	business core.BusinessID
	name     string
}

// Change replaces a state with the result of change (StateStore). It stores no empty state.
func (l *LocalStates) Change(_ context.Context, business core.BusinessID, name string,
	change func(state []byte) []byte) error {
	key := localKey{business, name}
	l.mu.Lock()
	defer l.mu.Unlock()
	state, known := l.recent[key]
	if !known {
		state = l.older[key]
	}
	if state = change(state); len(state) == 0 {
		return nil
	}
	if !known && (l.recent == nil || len(l.recent) >= maxLocal) {
		l.recent, l.older = map[localKey][]byte{}, l.recent
	}
	l.recent[key] = state
	return nil
}
