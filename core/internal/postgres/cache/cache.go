// Package cache caches values of businesses in a replica. The statement that relies on a cached value checks the
// snapshot in which the value was read.
package cache

import (
	"maps"
	"strings"
	"sync"

	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/servery-hub/servery/core"
)

// Entry is a value of a business, with the snapshot of the database in which it was read (cache_snapshot).
type Entry[V any] struct {
	Value    V
	Snapshot string
}

// Epoch returns the epoch of the database in which the value was read. Versions of different epochs are not comparable,
// because a server that lost transactions gives their numbers again.
func (e Entry[V]) Epoch() string {
	epoch, _ := split(e.Snapshot)
	return epoch
}

// split splits what cache_snapshot returned.
func split(snapshot string) (epoch, open string) {
	epoch, open, _ = strings.Cut(snapshot, " ")
	return epoch, open
}

// Cache caches values of businesses in this replica. A cached value may be out of date. The statement that relies on it
// checks its snapshot against business_changes, see Checks.
type Cache[K comparable, V any] struct {
	Max  int         // entries, or what Size returns for all of them
	Size func(V) int // nil: 1

	mu      sync.Mutex
	entries map[K]Entry[V]
	size    int // of all entries
}

// Get returns the value of a key.
func (c *Cache[K, V]) Get(key K) (Entry[V], bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, known := c.entries[key]
	return found, known
}

// Put stores the value of a key. It empties a full cache first. It does not store a value that alone exceeds Max.
func (c *Cache[K, V]) Put(key K, value Entry[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := c.sizeOf(value)
	if earlier, known := c.entries[key]; known {
		c.size -= c.sizeOf(earlier)
		delete(c.entries, key)
	}
	if c.entries == nil || c.size+size > c.Max {
		c.entries, c.size = map[K]Entry[V]{}, 0
	}
	if size <= c.Max {
		c.entries[key] = value
		c.size += size
	}
}

func (c *Cache[K, V]) sizeOf(entry Entry[V]) int {
	if c.Size == nil {
		return 1
	}
	return c.Size(entry.Value)
}

// Check is the snapshot of values of a business on which a statement relies.
type Check struct {
	Business core.BusinessID
	Snapshot string
}

// Checks are the snapshots on which a statement relies, each once. The statement finds the ones without a later change
// of their business, see business_changes.
type Checks struct {
	list  []Check
	known map[Check]bool
}

// Add adds a snapshot. An empty one needs no check.
func (c *Checks) Add(business core.BusinessID, snapshot string) {
	check := Check{business, snapshot}
	if snapshot == "" || c.known[check] {
		return
	}
	if c.known == nil {
		c.known = map[Check]bool{}
	}
	c.known[check] = true
	c.list = append(c.list, check)
}

// None reports whether there is nothing to check.
func (c *Checks) None() bool { return len(c.list) == 0 }

// Into sets the arguments "checked", "epochs" and "snapshots" of a statement.
func (c *Checks) Into(args map[string]any) {
	n := len(c.list)
	businesses, epochs, snapshots := make([]int64, n), make([]string, n), make([]string, n)
	for i, check := range c.list {
		businesses[i] = int64(check.Business)
		epochs[i], snapshots[i] = split(check.Snapshot)
	}
	args["checked"], args["epochs"], args["snapshots"] = pgdialect.Array(businesses), pgdialect.Array(epochs),
		pgdialect.Array(snapshots)
}

// At returns the snapshot at a position that the statement returned, from 1.
func (c *Checks) At(position int64) Check { return c.list[position-1] }

// Stale is a set of snapshots that are known to be out of date.
type Stale map[Check]bool

// Add adds the snapshots of another set.
func (s Stale) Add(other Stale) { maps.Copy(s, other) }
