// Package inbound limits the connections that a hub accepts: their number, in total and for each address, and how
// long a peer may stall.
//
// The server sets absolute deadlines for request headers and idle connections. Bodies and responses have no deadline,
// because live pages and large menus can take long. This package requires progress of them instead.
package inbound

import (
	"container/list"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Config sets the limits of connections. All fields except Trusted are required.
type Config struct {
	Max        int            // connections in total
	PerAddress int            // connections from an IPv4 address, or from an IPv6 /64
	Trusted    []netip.Prefix // proxies, exempt from PerAddress
	Stall      time.Duration  // how long a peer may stall a body or response
	MinRate    int            // bytes per second that a body or response needs on average after Stall
	Log        *slog.Logger
}

// Stats counts connections.
type Stats struct {
	Open, Authenticated int
	RefusedTotal        int // refused for Max, or because the process had no more file descriptors
	RefusedAddress      int // refused for PerAddress
	RefusedBusiness     int // requests refused because a business had too many in progress
	Evicted             int // closed while waiting, to accept new ones
	Stalled             int // closed because the peer made no progress
}

// Limiter counts the connections of its listeners.
type Limiter struct {
	config Config

	mu            sync.Mutex
	stats         Stats
	anonymous     list.List // of unauthenticated *Conn, oldest first
	authenticated list.List // of the other ones
	origins       map[netip.Prefix]*origin
	requests      map[int64]int // in progress, by business
	logged        time.Time
}

// origin counts the connections of an address or network.
type origin struct {
	open      int
	anonymous list.List // of *Conn, as in Limiter
}

// New returns a Limiter.
func New(config Config) *Limiter {
	return &Limiter{config: config, origins: map[netip.Prefix]*origin{}, requests: map[int64]int{}}
}

// Stats returns the current counts.
func (l *Limiter) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}

// Listener returns a listener that applies the limits to its connections.
func (l *Limiter) Listener(inner net.Listener) net.Listener {
	return &listener{Listener: inner, limiter: l, closed: make(chan struct{})}
}

// add counts a connection. At a limit it evicts an unauthenticated connection that waits for its peer. At the limit in
// total it may also evict an authenticated one that waits for a request. The caller must close the evicted one. Both
// results are nil if there is none to evict.
func (l *Limiter) add(inner net.Conn) (added, evicted *Conn) {
	from := l.originOf(inner.RemoteAddr())
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.origins[from]
	if from.IsValid() && o != nil && o.open >= l.config.PerAddress {
		if evicted = l.evict(&o.anonymous); evicted == nil {
			l.stats.RefusedAddress++
			l.warn("connection limit of an address reached", "address", from.String())
			return nil, nil
		}
	} else if l.stats.Open >= l.config.Max {
		if evicted = l.evictOne(); evicted == nil {
			return nil, nil
		}
	}
	added = newConn(inner, l, from)
	l.stats.Open++
	added.element = l.anonymous.PushBack(added)
	if from.IsValid() {
		if o = l.origins[from]; o == nil {
			o = &origin{}
			l.origins[from] = o
		}
		o.open++
		added.originElement = o.anonymous.PushBack(added)
	}
	return added, evicted
}

// evictAny evicts any connection that may be evicted. It returns nil if there is none.
func (l *Limiter) evictAny() *Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.evictOne()
}

// evictOne is evictAny for a caller that holds mu.
func (l *Limiter) evictOne() *Conn {
	evicted := l.evict(&l.anonymous)
	if evicted == nil {
		evicted = l.evictIdle()
	}
	if evicted == nil {
		l.stats.RefusedTotal++
		l.warn("connection limit reached", "open", l.stats.Open)
	}
	return evicted
}

// evictIdle removes the authenticated connection that has waited longest between requests. If there is none, it takes
// one whose request has begun but not shown a key or session. Otherwise a client with one key could take all
// connections by the first bytes of requests. The caller holds mu.
func (l *Limiter) evictIdle() *Conn {
	for {
		var longest *Conn
		var least int64
		idlest := false
		for e := l.authenticated.Front(); e != nil; e = e.Next() {
			c := e.Value.(*Conn)
			since, idle := c.idleSince.Load(), c.idle.Load()
			if since <= 0 || c.proven.Load() {
				continue
			}
			if longest == nil || idle && !idlest || idle == idlest && since < least {
				longest, least, idlest = c, since, idle
			}
		}
		if longest == nil {
			return nil
		}
		if longest.idleSince.CompareAndSwap(least, isEvicted) { // nothing has arrived meanwhile
			return l.evicted(longest)
		}
	}
}

// evicted stops counting a connection that is evicted. The caller holds mu.
func (l *Limiter) evicted(c *Conn) *Conn {
	c.evicted.Store(true)
	l.removeLocked(c)
	l.stats.Evicted++
	return c
}

// evict removes the oldest connection of a list that waits for its peer. The caller holds mu.
func (l *Limiter) evict(from *list.List) *Conn {
	for e := from.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*Conn); c.waiting.Load() {
			return l.evicted(c)
		}
	}
	return nil
}

// remove stops counting a connection.
func (l *Limiter) remove(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removeLocked(c)
}

func (l *Limiter) removeLocked(c *Conn) {
	if c.removed {
		return
	}
	c.removed = true
	l.stats.Open--
	if c.authenticated {
		l.stats.Authenticated--
	}
	l.unlist(c)
	l.endRequest(c)
	if o := l.origins[c.origin]; o != nil {
		if o.open--; o.open == 0 {
			delete(l.origins, c.origin)
		}
	}
}

// minRequests lets a client of a small server send its next request at once: the last one ends after its response.
const minRequests = 4

// MaxRequests returns how many requests of one business may be in progress: a quarter of all connections. Otherwise the
// clients of one business could take all of them.
func (l *Limiter) MaxRequests() int { return max(l.config.Max/4, minRequests) }

// beginRequest counts a request of a business on a connection until the request ends. It returns false if the business
// has too many in progress.
func (l *Limiter) beginRequest(c *Conn, business int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endRequest(c)
	switch {
	case c.removed || business == 0:
		return true
	case l.requests[business] >= l.MaxRequests():
		l.stats.RefusedBusiness++
		l.warn("request limit of a business reached", "business", business, "requests", l.requests[business])
		return false
	}
	c.business = business
	l.requests[business]++
	return true
}

// endRequest stops counting the request of a business on a connection. The caller holds mu.
func (l *Limiter) endRequest(c *Conn) {
	if c.business == 0 {
		return
	}
	if l.requests[c.business]--; l.requests[c.business] == 0 {
		delete(l.requests, c.business)
	}
	c.business = 0
}

// markAuthenticated protects a connection from eviction during its requests.
func (l *Limiter) markAuthenticated(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.removed {
		l.stats.Authenticated++
		l.unlist(c)
		c.authenticated = true
		c.element = l.authenticated.PushBack(c)
	}
}

func (l *Limiter) unlist(c *Conn) {
	if c.authenticated {
		l.authenticated.Remove(c.element)
		return
	}
	l.anonymous.Remove(c.element)
	if o := l.origins[c.origin]; o != nil {
		o.anonymous.Remove(c.originElement)
	}
	c.originElement = nil
}

func (l *Limiter) countStalled() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.Stalled++
}

// warnEvery is the least interval between log entries about refused connections.
const warnEvery = time.Minute

func (l *Limiter) warn(message string, about ...any) {
	if now := time.Now(); now.Sub(l.logged) >= warnEvery {
		l.logged = now
		l.config.Log.Warn(message, about...)
	}
}

// originOf returns the network in which an address is counted. It is invalid for a trusted proxy.
func (l *Limiter) originOf(remote net.Addr) netip.Prefix {
	tcp, ok := remote.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	address := tcp.AddrPort().Addr().Unmap().WithZone("")
	if slices.ContainsFunc(l.config.Trusted, func(p netip.Prefix) bool { return p.Contains(address) }) {
		return netip.Prefix{}
	}
	return NetworkOf(address)
}
