package hubtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Arrival is a request that a Sink got.
type Arrival struct {
	At     time.Time
	Header http.Header
	Body   []byte
}

// Sink is an endpoint that remembers what it gets.
type Sink struct {
	URL    string
	mu     sync.Mutex
	got    []Arrival
	answer func(n int, w http.ResponseWriter, r *http.Request)
}

// NewSink starts an endpoint. answer is called with the number of the request,
// from 1; nil answers 200.
func NewSink(t testing.TB, answer func(n int, w http.ResponseWriter, r *http.Request)) *Sink {
	t.Helper()
	s := &Sink{answer: answer}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL + "/hook"
	return s
}

// ServeHTTP remembers a request and answers it.
func (s *Sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.got = append(s.got, Arrival{time.Now(), r.Header.Clone(), body})
	n := len(s.got)
	s.mu.Unlock()
	if s.answer != nil {
		s.answer(n, w, r)
	}
}

// Arrivals is what came so far.
func (s *Sink) Arrivals() []Arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Arrival(nil), s.got...)
}
