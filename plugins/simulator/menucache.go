package simulator

import (
	"container/list"
	"sync"
)

// menuCache keeps the latest menu of each store as it came, up to a number of bytes
// over all accounts; those that came longest ago go first.
type menuCache struct {
	mu       sync.Mutex
	maxBytes int
	bytes    int
	order    *list.List // of kept, the oldest at the front
	entries  map[menuKey]*list.Element
}

type menuKey struct{ space, platform, store string }

type menuEntry struct {
	key  menuKey
	body []byte
}

func newMenuCache(most int) *menuCache {
	return &menuCache{maxBytes: most, order: list.New(), entries: map[menuKey]*list.Element{}}
}

func (m *menuCache) put(key menuKey, body []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(m.entries[key])
	m.entries[key] = m.order.PushBack(menuEntry{key, body})
	m.bytes += len(body)
	for m.bytes > m.maxBytes && m.order.Len() > 0 {
		m.drop(m.order.Front())
	}
}

// get finds a menu; nil where none is kept.
func (m *menuCache) get(key menuKey) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entries[key]; e != nil {
		return e.Value.(menuEntry).body
	}
	return nil
}

// drop takes an element out; the caller holds mu.
func (m *menuCache) drop(e *list.Element) {
	if e == nil {
		return
	}
	k := m.order.Remove(e).(menuEntry)
	m.bytes -= len(k.body)
	delete(m.entries, k.key)
}
