package main

import (
	"container/list"
	"crypto/sha256"
)

// listenMemory counts the attempts of the webhook-ids that came last, each in
// the same few bytes however long it is.
type listenMemory struct {
	limit    int
	recent   *list.List // of *listenAttempts, the last one in front
	byID     map[[sha256.Size]byte]*list.Element
	distinct int
	forgot   bool // an id had to make room
}

type listenAttempts struct {
	id    [sha256.Size]byte
	count int
}

func newListenMemory(limit int) *listenMemory {
	return &listenMemory{limit: limit, recent: list.New(), byID: map[[sha256.Size]byte]*list.Element{}}
}

// attempt counts one more of the id and returns its number, from 1.
func (m *listenMemory) attempt(id string) int {
	key := sha256.Sum256([]byte(id))
	if element, found := m.byID[key]; found {
		m.recent.MoveToFront(element)
		attempts := element.Value.(*listenAttempts)
		attempts.count++
		return attempts.count
	}
	if m.recent.Len() >= m.limit {
		oldest := m.recent.Remove(m.recent.Back()).(*listenAttempts)
		delete(m.byID, oldest.id)
		m.forgot = true
	}
	m.distinct++
	m.byID[key] = m.recent.PushFront(&listenAttempts{id: key, count: 1})
	return 1
}
