package simulator

import (
	"container/list"
	"sync"
)

// menuCache has the latest menu of each store, up to a number of bytes in total. It evicts the oldest first.
type menuCache struct {
	mu       sync.Mutex
	maxBytes int
	bytes    int
	order    *list.List // of menuEntry, oldest first
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

// get returns a menu, or nil if there is none.
func (m *menuCache) get(key menuKey) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.entries[key]; e != nil {
		return e.Value.(menuEntry).body
	}
	return nil
}

// drop removes an element. The caller holds mu.
func (m *menuCache) drop(e *list.Element) {
	if e == nil {
		return
	}
	k := m.order.Remove(e).(menuEntry)
	m.bytes -= len(k.body)
	delete(m.entries, k.key)
}
