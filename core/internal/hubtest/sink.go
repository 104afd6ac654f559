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

// Arrival is a request that a Sink received.
type Arrival struct {
	At     time.Time
	Path   string
	Header http.Header
	Body   []byte
}

// Sink is an HTTP endpoint that stores the requests that it receives.
type Sink struct {
	URL      string
	mu       sync.Mutex
	arrivals []Arrival
	respond  func(n int, w http.ResponseWriter, r *http.Request)
	check    func(event string, body []byte) // nil: no check
}

// NewSink starts an endpoint. The parameter respond gets the number of the request, counting from 1; nil returns 200.
func NewSink(t testing.TB, respond func(n int, w http.ResponseWriter, r *http.Request)) *Sink {
	t.Helper()
	return (&Sink{respond: respond}).start(t)
}

// NewEventSink starts an endpoint like NewSink, and checks every body against the schema of its event type.
func NewEventSink(t testing.TB, respond func(n int, w http.ResponseWriter, r *http.Request)) *Sink {
	t.Helper()
	return (&Sink{respond: respond,
		check: func(event string, body []byte) { eventtest.Check(t, core.EventType(event), body) }}).start(t)
}

func (s *Sink) start(t testing.TB) *Sink {
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL + "/hook"
	return s
}

// ServeHTTP stores a request and responds.
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

// Distinct returns the first request with each value of a header, such as the webhook-id. A delivery may be repeated
// even if nothing fails: its lease may end before its result is recorded.
func (s *Sink) Distinct(header string) (first []Arrival) {
	seen := map[string]bool{}
	for _, arrival := range s.Arrivals() {
		if value := arrival.Header.Get(header); value == "" || !seen[value] {
			seen[value] = true
			first = append(first, arrival)
		}
	}
	return first
}

// Arrivals returns the requests so far.
func (s *Sink) Arrivals() []Arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Arrival(nil), s.arrivals...)
}
