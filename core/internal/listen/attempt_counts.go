package listen

import (
	"container/list"
	"crypto/sha256"
)

// attemptCounts counts the attempts of the most recent webhook-ids. It hashes them, so that each takes the same few
// bytes.
type attemptCounts struct {
	limit    int
	recent   *list.List // of *attempts, most recent first
	byID     map[[sha256.Size]byte]*list.Element
	distinct int
	evicted  bool // an id was evicted
}

type attempts struct {
	id    [sha256.Size]byte
	count int
}

func newAttemptCounts(limit int) *attemptCounts {
	return &attemptCounts{limit: limit, recent: list.New(), byID: map[[sha256.Size]byte]*list.Element{}}
}

// attempt counts an attempt of the id and returns its number, from 1.
func (m *attemptCounts) attempt(id string) int {
	key := sha256.Sum256([]byte(id))
	if element, found := m.byID[key]; found {
		m.recent.MoveToFront(element)
		known := element.Value.(*attempts)
		known.count++
		return known.count
	}
	if m.recent.Len() >= m.limit {
		oldest := m.recent.Remove(m.recent.Back()).(*attempts)
		delete(m.byID, oldest.id)
		m.evicted = true
	}
	m.distinct++
	m.byID[key] = m.recent.PushFront(&attempts{id: key, count: 1})
	return 1
}
