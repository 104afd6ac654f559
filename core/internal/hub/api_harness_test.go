package hub

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/menu"
)

// declaredByPlugins is the menu vocabulary of a hub without plugins.
var declaredByPlugins = []menu.Declaration{{Group: "NutritionalInfo", On: menu.OnItem, Platform: "aggregator-a",
	Keys: []menu.Key{{Name: "fat_mg"}, {Name: "protein_mg"}, {Name: "calorie_kcal"}, {Name: "fiber_mg"}}}}

// api is a hub in this process with a fake clock.
type api struct {
	hub   *Hub
	clock *steadyClock
}

// steadyClock moves past the end of a lease only when none is held. A test may see a result before its work is
// recorded, and an expired lease would repeat the work.
type steadyClock struct {
	*clocktest.Clock
	work    func() (*sql.Stmt, error)
	longest time.Duration // that advanceToWork moves it at once
	moved   atomic.Int64  // time moved while a lease was held, in nanoseconds
}

// withinLeases is shorter than every lease, and longestMove is shorter than that. With plugins, a move must not skip
// their health checks.
const (
	withinLeases       = 10 * time.Second
	longestMove        = 8 * time.Second
	longestWithPlugins = 2 * time.Second
)

// Advance waits briefly for running work. Work that hangs, or waits for the end of its lease, needs the clock to move.
func (c *steadyClock) Advance(d time.Duration) {
	if c.moved.Add(int64(d)) > int64(withinLeases) {
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); <-time.After(2 * time.Millisecond) {
			if held, _, err := c.nextWork(); err != nil || !held {
				break
			}
		}
		c.moved.Store(int64(d))
	}
	c.Clock.Advance(d)
}

// advanceToWork moves the clock towards the next time when work is due. While work runs, or none waits, it moves the
// clock by a step. Work may begin between the query and the move, so the move is short.
func (c *steadyClock) advanceToWork(step time.Duration) {
	if held, due, err := c.nextWork(); err == nil && !held && due.Valid {
		step = max(step, min(due.Time.Sub(c.Now()), c.longest))
	}
	c.Advance(step)
}

// nextWork reports whether a replica has leased work, and when the next is due.
func (c *steadyClock) nextWork() (held bool, due sql.NullTime, err error) {
	work, err := c.work()
	if err == nil {
		err = work.QueryRow().Scan(&held, &due)
	}
	return held, due, err
}

// nextWorkSQL leaves out menus whose outcome is awaited. They are not due.
const nextWorkSQL = `WITH work AS (SELECT owner, available_at FROM publications
			WHERE available_at < 'infinity' AND (owner IS NOT NULL OR sent_deadline IS NULL)
		UNION ALL SELECT owner, available_at FROM job_queue
		UNION ALL SELECT owner, available_at FROM call_queue WHERE available_at < 'infinity'
		UNION ALL SELECT owner, available_at FROM delivery_queue WHERE available_at < 'infinity')
	SELECT count(owner) > 0, min(available_at) FROM work`

// newAPI creates a hub without plugins. Call start to run jobs and deliveries.
func newAPI(t *testing.T, change func(*Config)) *api {
	t.Helper()
	vocabulary, err := menu.NewVocabulary(declaredByPlugins...)
	require.NoError(t, err)
	a := newPluginAPI(t, t.TempDir(), func(c *Config) {
		c.IngestPolicy.Vocabulary = vocabulary
		if change != nil {
			change(c)
		}
	})
	a.clock.longest = longestMove
	return a
}

// newPluginAPI creates a hub with the plugins of a directory.
func newPluginAPI(t *testing.T, dir string, change func(*Config)) *api {
	t.Helper()
	shipped := Defaults()
	config := Config{
		Version: "test", Roles: []string{RoleAPI, RoleWorker}, Limits: shipped.Limits, MaxBody: shipped.MaxBody,
		Memory: limit.NewMemory(defaultMemory), Connections: shipped.Connections, Retention: shipped.Retention,
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}
	change(&config)
	db, clock := newDatabase(t)
	host, metrics, err := OpenPlugins(t.Context(),
		PluginsConfig{Dir: dir, NoIsolation: true, Tracer: config.Tracer, Log: hubtest.Logger()}, db)
	require.NoError(t, err)
	t.Cleanup(host.Close)
	aggregator.AwaitSettled(t.Context(), host.Host, time.Minute) // a busy machine starts them slowly
	config.Host, config.PluginMetrics = host, metrics
	if config.Plugins == nil {
		config.Plugins, config.Platforms = host, platforms.New(db)
	}
	if config.IngestPolicy.Vocabulary == nil {
		config.IngestPolicy.Vocabulary = host
	}
	return &api{New(config, db, hubtest.Logger()), clock}
}

func newDatabase(t *testing.T) (*postgres.DB, *steadyClock) {
	t.Helper()
	clock, url := clocktest.New(), hubtest.DatabaseURL(t)
	leases := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(url)))
	leases.SetMaxOpenConns(1) // tests ask often, so the statement is planned once
	t.Cleanup(func() { _ = leases.Close() })
	work := sync.OnceValues(func() (*sql.Stmt, error) { return leases.Prepare(nextWorkSQL) })
	return hubtest.Open(t, url, clock), &steadyClock{Clock: clock, work: work, longest: longestWithPlugins}
}

// start runs jobs and deliveries until the test ends.
func (a *api) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	for _, part := range []func(context.Context){a.hub.engine.Run, a.hub.runner.Run, a.hub.relay.Run,
		a.hub.publisher.Run, a.hub.timer.Run, a.hub.waits.Run, a.hub.listenNotifications} {
		parts.Add(1)
		go func() {
			defer parts.Done()
			part(ctx)
		}()
	}
	t.Cleanup(func() {
		cancel()
		parts.Wait()
		a.hub.tokens.Close()
		for _, sender := range a.hub.senders {
			sender.Close()
		}
	})
}

// request is a request to the API.
type request struct {
	method, path, authorization string
	body                        string
	headers                     map[string]string
}

// apiResponse is a response of the API.
type apiResponse struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

func (r apiResponse) message() string { message, _ := r.body["message"].(string); return message }

// do sends a request and checks the response against the OpenAPI document.
func (a *api) do(t *testing.T, c request) apiResponse {
	t.Helper()
	sent := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
	if c.body != "" {
		sent.Header.Set("Content-Type", "application/json")
	}
	if c.authorization != "" {
		sent.Header.Set("Authorization", c.authorization)
	}
	for name, value := range c.headers {
		sent.Header.Set(name, value)
	}
	response, err := a.hub.server.App.Test(sent, -1)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NotEmpty(t, response.Header.Get("X-Request-Id"))
	checkAgainstOpenAPI(t, c, response, text)
	r := apiResponse{status: response.StatusCode, header: response.Header, text: string(text)}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		require.NoError(t, json.Unmarshal(text, &r.body))
	}
	return r
}

// parsed decodes the body of a response.
func (a *api) parsed(r apiResponse) apiResponse {
	_ = json.Unmarshal([]byte(r.text), &r.body)
	return r
}

// awaitRecords waits until no lease is held. A test calls it before it moves the clock by more than a lease.
func (a *api) awaitRecords(t *testing.T) {
	t.Helper()
	hubtest.WaitUntil(t, "the records of running work", func() bool {
		held, _, err := a.clock.nextWork()
		return err == nil && !held
	})
}

// waitAdvancing waits for a condition and moves the clock to the next work after each check.
func (a *api) waitAdvancing(t *testing.T, what string, condition func() bool) {
	t.Helper()
	hubtest.WaitUntil(t, what, func() bool {
		a.clock.advanceToWork(time.Millisecond)
		return condition()
	})
}

// requireEnvelope checks the form of an error response.
func requireEnvelope(t *testing.T, r apiResponse, status int, message string) {
	t.Helper()
	require.Equal(t, status, r.status, r.text)
	require.Equal(t, "error", r.body["status"])
	require.Contains(t, r.message(), message)
	require.NotContains(t, r.body, "reference")
}
