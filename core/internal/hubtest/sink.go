package hubtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
)

// Arrival is a request that a Sink got.
type Arrival struct {
	At     time.Time
	Path   string
	Header http.Header
	Body   []byte
}

// Sink is an endpoint that remembers what it gets.
type Sink struct {
	URL      string
	mu       sync.Mutex
	arrivals []Arrival
	respond  func(n int, w http.ResponseWriter, r *http.Request)
	check    func(event string, body []byte) // nil of an endpoint that takes anything
}

// NewSink starts an endpoint. answer is called with the number of the request,
// from 1; nil answers 200.
func NewSink(t testing.TB, answer func(n int, w http.ResponseWriter, r *http.Request)) *Sink {
	t.Helper()
	return (&Sink{respond: answer}).start(t)
}

// NewEventSink starts an endpoint as NewSink does, and holds every body against
// the schema of its event type.
func NewEventSink(t testing.TB, answer func(n int, w http.ResponseWriter, r *http.Request)) *Sink {
	t.Helper()
	return (&Sink{respond: answer,
		check: func(event string, body []byte) { eventtest.Check(t, core.EventType(event), body) }}).start(t)
}

func (s *Sink) start(t testing.TB) *Sink {
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL + "/hook"
	return s
}

// ServeHTTP remembers a request and answers it.
func (s *Sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if s.check != nil && err == nil {
		s.check(r.Header.Get("X-Event-Type"), body)
	}
	s.mu.Lock()
	s.arrivals = append(s.arrivals, Arrival{time.Now(), r.URL.Path, r.Header.Clone(), body})
	n := len(s.arrivals)
	s.mu.Unlock()
	if s.respond != nil {
		s.respond(n, w, r)
	}
}

// Arrivals is what came so far.
func (s *Sink) Arrivals() []Arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Arrival(nil), s.arrivals...)
}
