package simulator

import (
	"slices"
	"sync"
)

// menuCache has the latest menu of each store, up to a number of bytes in total. It evicts the oldest first.
type menuCache struct {
	mu       sync.Mutex
	maxBytes int
	bytes    int
	order    []menuKey // oldest first
	menus    map[menuKey][]byte
}

type menuKey struct{ space, platform, store string }

func newMenuCache(most int) *menuCache {
	return &menuCache{maxBytes: most, menus: map[menuKey][]byte{}}
}

func (m *menuCache) put(key menuKey, body []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := slices.Index(m.order, key); n >= 0 {
		m.drop(n)
	}
	m.order, m.menus[key] = append(m.order, key), body
	m.bytes += len(body)
	for m.bytes > m.maxBytes {
		m.drop(0)
	}
}

// get returns a menu, or nil if there is none.
func (m *menuCache) get(key menuKey) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.menus[key]
}

// drop removes the n-th menu. The caller holds mu.
func (m *menuCache) drop(n int) {
	key := m.order[n]
	m.bytes -= len(m.menus[key])
	delete(m.menus, key)
	m.order = slices.Delete(m.order, n, n+1)
}
