// Package inbound bounds the connections that a hub accepts: how many there are, in all
// and from one address, and how long each may keep the hub waiting.
//
// The server sets absolute deadlines for the header of a request and for idle connections.
// Bodies and responses have none, since live pages and large menus take as long as they
// take: here they must make progress.
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

// Config bounds connections. All fields but Trusted are required.
type Config struct {
	Max        int            // connections in all
	PerAddress int            // connections of an IPv4 address, or of an IPv6 /64
	Trusted    []netip.Prefix // proxies: connections from there count in all alone
	Stall      time.Duration  // how long a peer may keep a body or a response waiting
	MinRate    int            // bytes a second that a body or a response needs on average after Stall
	Log        *slog.Logger
}

// Stats counts connections.
type Stats struct {
	Open, Authenticated int
	RefusedTotal        int // refused for Max, or because the process had no more file descriptors
	RefusedAddress      int // refused for PerAddress
	Evicted             int // closed while they waited, in favour of new ones
	Stalled             int // closed because their peer made no progress
}

// Limiter counts the connections of its listeners.
type Limiter struct {
	config Config

	mu        sync.Mutex
	stats     Stats
	anonymous list.List // of *Conn on which nothing has been authenticated, oldest first
	origins   map[netip.Prefix]*origin
	logged    time.Time
}

// origin is where connections come from that are counted together.
type origin struct {
	open      int
	anonymous list.List // of *Conn, as in Limiter
}

// New makes a limiter.
func New(config Config) *Limiter {
	return &Limiter{config: config, origins: map[netip.Prefix]*origin{}}
}

// Stats returns the present figures.
func (l *Limiter) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
}

// Listener returns a listener whose connections are bounded.
func (l *Limiter) Listener(inner net.Listener) net.Listener {
	return &listener{Listener: inner, limiter: l, closed: make(chan struct{})}
}

// add counts a connection. Where there are too many, one that waits for its peer and on
// which nothing has been authenticated makes room: it is returned, to be closed.
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
		if evicted = l.evict(&l.anonymous); evicted == nil {
			l.countRefused()
			return nil, nil
		}
	}
	added = newConn(inner, l, from)
	l.stats.Open++
	added.anonymousElement = l.anonymous.PushBack(added)
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

// evictAny takes out a connection that waits for its peer; nil where there is none.
func (l *Limiter) evictAny() *Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	evicted := l.evict(&l.anonymous)
	if evicted == nil {
		l.countRefused()
	}
	return evicted
}

func (l *Limiter) countRefused() {
	l.stats.RefusedTotal++
	l.warn("connection limit reached", "open", l.stats.Open)
}

// evict takes out the oldest connection of a list that waits for its peer.
func (l *Limiter) evict(from *list.List) *Conn {
	for e := from.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*Conn); c.waiting.Load() {
			c.evicted.Store(true)
			l.removeLocked(c)
			l.stats.Evicted++
			return c
		}
	}
	return nil
}

// remove counts a connection no longer.
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
	if c.anonymousElement == nil {
		l.stats.Authenticated--
	}
	l.unlist(c)
	if o := l.origins[c.origin]; o != nil {
		if o.open--; o.open == 0 {
			delete(l.origins, c.origin)
		}
	}
}

// markAuthenticated keeps a connection from being evicted.
func (l *Limiter) markAuthenticated(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !c.removed {
		l.stats.Authenticated++
		l.unlist(c)
	}
}

func (l *Limiter) unlist(c *Conn) {
	if c.anonymousElement == nil {
		return
	}
	l.anonymous.Remove(c.anonymousElement)
	if o := l.origins[c.origin]; o != nil {
		o.anonymous.Remove(c.originElement)
	}
	c.anonymousElement, c.originElement = nil, nil
}

func (l *Limiter) countStalled() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.Stalled++
}

// warnEvery is how often it is logged at most that connections are refused.
const warnEvery = time.Minute

func (l *Limiter) warn(message string, about ...any) {
	if now := time.Now(); now.Sub(l.logged) >= warnEvery {
		l.logged = now
		l.config.Log.Warn(message, about...)
	}
}

// originOf returns the addresses that are counted together with one: an IPv4 address
// alone, the /64 of an IPv6 one. Of a trusted proxy it is not valid.
func (l *Limiter) originOf(remote net.Addr) netip.Prefix {
	tcp, ok := remote.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	address := tcp.AddrPort().Addr().Unmap().WithZone("")
	if slices.ContainsFunc(l.config.Trusted, func(p netip.Prefix) bool { return p.Contains(address) }) {
		return netip.Prefix{}
	}
	bits := 32
	if address.Is6() {
		bits = 64
	}
	prefix, _ := address.Prefix(bits) // the bits suit the address
	return prefix
}
