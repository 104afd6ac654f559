package credential

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
)

// memoryStore is a Store in memory. Its leases do not expire: a test may advance the clock during a token request.
type memoryStore struct {
	mu      sync.Mutex
	rows    map[Key]*memoryRow
	failing int // calls of Save that still fail
}

type memoryRow struct {
	lease   Lease
	owner   core.ID
	leased  bool
	failure string
}

func (s *memoryStore) Lease(_ context.Context, key Key, owner core.ID, _ time.Time) (Lease, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.rows[key]
	if row == nil {
		row = &memoryRow{}
		s.rows[key] = row
	}
	if row.owner != owner && row.leased {
		return Lease{}, false, nil
	}
	row.owner, row.leased = owner, true
	return row.lease, true, nil
}

func (s *memoryStore) Save(_ context.Context, key Key, owner core.ID, lease Lease) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing > 0 {
		s.failing--
		return false, fmt.Errorf("the database is unavailable")
	}
	row := s.rows[key]
	if row.lease.Version != lease.Version {
		return false, nil
	}
	lease.Version++
	row.lease, row.failure = lease, ""
	if row.owner == owner {
		row.leased = false
	}
	return true, nil
}

func (s *memoryStore) Release(_ context.Context, key Key, owner core.ID, reason string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows[key].owner != owner {
		return nil
	}
	s.rows[key].leased = false
	if reason != "" {
		s.rows[key].failure = reason
	}
	return nil
}

// tokenServer grants tokens token-1, token-2 and so on, or responds as respond says.
type tokenServer struct {
	*httptest.Server
	mu       sync.Mutex
	requests []url.Values
	headers  []http.Header
	respond  func(n int, w http.ResponseWriter, form url.Values) bool // false: grant
	lifetime int
}

func newTokenServer(t *testing.T) *tokenServer {
	t.Helper()
	s := &tokenServer{lifetime: 3600}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *tokenServer) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	s.mu.Lock()
	s.requests, s.headers = append(s.requests, form), append(s.headers, r.Header)
	n, respond, lifetime := len(s.requests), s.respond, s.lifetime
	s.mu.Unlock()
	if respond != nil && respond(n, w, form) {
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"access_token": fmt.Sprintf("token-number-%d", n),
		"token_type": "Bearer", "expires_in": lifetime})
}

func (s *tokenServer) respondWith(respond func(n int, w http.ResponseWriter, form url.Values) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.respond = respond
}

func (s *tokenServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// guardedSender sends with the sender of the hub.
type guardedSender struct{ *webhook.Sender }

func (o guardedSender) Send(ctx context.Context, r relay.Request) relay.Attempt {
	r.Certificate = nil // those of the tests are no valid pairs
	a := o.Exchange(ctx, r)
	return relay.Attempt{StartedAt: a.StartedAt, Method: r.Method, URL: r.URL, RequestHeaders: a.RequestHeaders,
		RequestBody: r.Body, Status: a.Status, ErrorClass: string(a.ErrorClass), Error: a.Error,
		ResponseHeaders: a.ResponseHeaders, ResponseBody: a.ResponseBody}
}

// fixture is a token server and a store, with the managers of replicas.
type fixture struct {
	t      *testing.T
	clock  *clocktest.Clock
	server *tokenServer
	store  *memoryStore
	access relay.Access
	oauth  relay.OAuth2
}

const (
	clientSecret = "s3cret/of+the=client"
	firstRefresh = "first-refresh-token"
)

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, clock: clocktest.New(), server: newTokenServer(t)}
	f.store = &memoryStore{rows: map[Key]*memoryRow{}}
	f.access = relay.Access{BaseURLs: map[string]string{"auth": f.server.URL},
		Secrets: map[string]string{"client_id": "client one", "client_secret": clientSecret, "refresh": firstRefresh}}
	f.oauth = relay.OAuth2{Endpoint: "auth", Hosts: []string{"127.0.0.1"}, Path: "/oauth/token", ClientID: "client_id",
		ClientSecret: "client_secret"}
	return f
}

// replica returns the manager of a new replica.
func (f *fixture) replica(allowed ...string) *Manager {
	f.t.Helper()
	if len(allowed) == 0 {
		allowed = []string{"127.0.0.0/8"}
	}
	sender := webhook.NewSender(webhook.SenderConfig{ExchangeTimeout: 300 * time.Millisecond, KeepLimit: 64 << 10},
		webhook.NewGuard([]netip.Prefix{netip.MustParsePrefix(allowed[0])}), f.clock)
	m := &Manager{Store: f.store, Platforms: f, Sender: guardedSender{sender}, Clock: f.clock,
		Log: slog.New(slog.DiscardHandler)}
	f.t.Cleanup(func() { m.Close(); sender.Close() })
	return m
}

// Access returns the present settings of the platform (relay.Platforms).
func (f *fixture) Access(context.Context, core.BusinessID, string) (relay.Access, error) {
	return f.access, nil
}

func (f *fixture) request(rejected string) relay.TokenRequest {
	oauth := f.oauth
	return relay.TokenRequest{Business: 1, Platform: "tasty", Store: "s1", Credential: "partner", OAuth2: &oauth,
		Access: f.access, Rejected: rejected}
}

// await advances the clock until a function has returned. Tokens that are granted meanwhile do not expire.
func (f *fixture) await(do func()) {
	f.t.Helper()
	f.server.mu.Lock()
	f.server.lifetime = int(maxLifetime.Seconds())
	f.server.mu.Unlock()
	ended := make(chan struct{})
	go func() { defer close(ended); do() }()
	for {
		select {
		case <-ended:
			return
		default:
			f.clock.Advance(time.Millisecond)
			runtime.Gosched()
		}
	}
}

func (f *fixture) token(m *Manager) relay.Token {
	f.t.Helper()
	token, err := m.Token(f.t.Context(), f.request(""))
	require.NoError(f.t, err)
	return token
}
