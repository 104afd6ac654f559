package postgres

import (
	"maps"
	"reflect"
	"slices"
	"sync"
)

// states holds the in-memory values of packages for one database, by type.
type states struct {
	mu     sync.Mutex
	byType map[reflect.Type]any
}

// StateOf returns the value of type T for a database. The first call creates it.
func StateOf[T any](db *DB, make func(db *DB) *T) *T {
	db.states.mu.Lock()
	defer db.states.mu.Unlock()
	key := reflect.TypeFor[T]()
	if known, ok := db.states.byType[key]; ok {
		return known.(*T)
	}
	if db.states.byType == nil {
		db.states.byType = map[reflect.Type]any{}
	}
	value := make(db)
	db.states.byType[key] = value
	return value
}

// close closes the states that have a Close method.
func (s *states) close() {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.byType))
	s.mu.Unlock()
	for _, one := range all {
		if c, ok := one.(interface{ Close() }); ok {
			c.Close()
		}
	}
}
