package simulator

import (
	"container/list"
	"sync"
)

// menus keeps the latest menu of each store as it came, up to a number of bytes
// over all accounts; those that came longest ago go first.
type menus struct {
	mu    sync.Mutex
	most  int
	bytes int
	order *list.List // of kept, the oldest at the front
	by    map[menuKey]*list.Element
}

type menuKey struct{ space, platform, store string }

type kept struct {
	key  menuKey
	body []byte
}

func newMenus(most int) *menus {
	return &menus{most: most, order: list.New(), by: map[menuKey]*list.Element{}}
}

func (m *menus) put(key menuKey, body []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(m.by[key])
	m.by[key] = m.order.PushBack(kept{key, body})
	m.bytes += len(body)
	for m.bytes > m.most && m.order.Len() > 0 {
		m.drop(m.order.Front())
	}
}

// get finds a menu; nil where none is kept.
func (m *menus) get(key menuKey) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.by[key]; e != nil {
		return e.Value.(kept).body
	}
	return nil
}

// drop takes an element out; the caller holds mu.
func (m *menus) drop(e *list.Element) {
	if e == nil {
		return
	}
	k := m.order.Remove(e).(kept)
	m.bytes -= len(k.body)
	delete(m.by, k.key)
}
