package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	"github.com/servery-hub/servery/core/webhook"
)

// fixture is a fresh database with the present schema, an endpoint, and the built hub once it is started.
type fixture struct {
	*run
	address string
	db      *postgres.DB
	sql     *bun.DB // the hub's driver without the hub: measures floors, and counts what is stored
	sink    *sink
	hub     *hub
}

func (r *run) open(name string) *fixture {
	address := must(url.Parse(r.server.DSN()))
	address.Host = name
	f := &fixture{run: r, address: address.String()}
	check(schema.CreateDatabase(r.ctx, r.admin, name, r.server.User(), "template1"))
	r.Cleanup(func() { // so that its upkeep does not disturb the next measurement
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = schema.DropDatabase(ctx, r.admin, name)
	})
	f.db = hubtest.Connect(r, f.address, nil)
	must(schema.MigrateUp(r.ctx, f.db))
	check(f.db.CheckSeal(r.ctx))
	check(schema.Maintain(r.ctx, f.db, 30*24*time.Hour))
	f.sql = must(openSQL(f.address, publishers))
	r.Cleanup(func() { _ = f.sql.Close() })
	f.sink = r.startSink()
	return f
}

// openSQL connects to the private PostgreSQL.
func openSQL(address string, connections int) (*bun.DB, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	password, _ := u.User.Password()
	pool := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithNetwork("unix"), pgdriver.WithAddr(u.Path),
		pgdriver.WithUser(u.User.Username()), pgdriver.WithPassword(password), pgdriver.WithDatabase(u.Host),
		pgdriver.WithInsecure(true), pgdriver.WithBufferSize(64<<10), pgdriver.WithTimeout(time.Minute)))
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	return bun.NewDB(pool, pgdialect.New()), nil
}

// openHub opens a database with the built hub on it.
func (r *run) openHub(name string, variables ...string) *fixture {
	f := r.open(name)
	f.hub = f.startHub(variables...)
	return f
}

// execute runs statements.
func (f *fixture) execute(query string, args ...any) {
	_, err := f.sql.ExecContext(f.ctx, query, args...)
	check(err)
}

// count is the one number that a query returns.
func (f *fixture) count(query string, args ...any) (n int) {
	check(f.sql.QueryRowContext(f.ctx, query, args...).Scan(&n))
	return n
}

// verifyCount ends the measurement unless the query returns the number.
func (f *fixture) verifyCount(want int, query string, args ...any) {
	got := f.count(query, args...)
	verify(got == want, "%s is %d, not %d", query, got, want)
}

// untilCount waits until the query returns the number.
func (f *fixture) untilCount(want int, query string, args ...any) {
	f.until(2*time.Minute, fmt.Sprintf("%s: %d", query, want), func() bool { return f.count(query, args...) == want })
}

// business creates one whose callbacks go to the sink. The country decides which taxes a menu may have.
func (f *fixture) business(country string) hubtest.Tenant {
	who := hubtest.Business(f, f.db)
	if country != "US" {
		f.execute(`UPDATE businesses SET country = ?, currency = 'INR' WHERE id = ?`, country, who.ID)
	}
	for _, event := range []core.EventType{core.StoreCreation, core.InventoryUpdate} {
		hubtest.Subscribe(f, f.db, who.ID, event, f.sink.url, webhook.Seconds)
	}
	return who
}

// Paths of requests.
const (
	storesPath = "/external/api/v1/stores/"
	masterPath = "/external/api/v1/inventory/locations/-1/"
	ordersPath = "/channel/api/v1/orders/"
)

func menuPath(store string) string { return "/external/api/v1/inventory/locations/" + store + "/" }

// send makes a request, with a JSON body unless that is nil, and returns the body of the response.
func (f *fixture) send(path, authorization string, body []byte) []byte {
	var content bytes.Buffer
	request := f.request(path, authorization, body)
	response := f.hub.do(request, &content)
	verify(response.StatusCode == http.StatusOK, "%s: %s: %s", path, response.Status, content.Bytes())
	return content.Bytes()
}

func (f *fixture) request(path, authorization string, body []byte) *http.Request {
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	request := must(http.NewRequestWithContext(f.ctx, method, f.hub.base+path, bytes.NewReader(body)))
	request.Header.Set("Content-Type", "application/json")
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	return request
}

// accepted is a request that the hub took.
type accepted struct {
	Reference       string
	sent, responded time.Time
}

// submit posts a request whose response is a reference.
func (f *fixture) submit(who hubtest.Tenant, path string, body []byte) accepted {
	a := accepted{sent: time.Now()}
	content := f.send(path, who.Authorization, body)
	a.responded = time.Now()
	check(json.Unmarshal(content, &a))
	return a
}

// journey is one request from its POST to its callback, in milliseconds.
type journey struct {
	accept   float64 // POST to response
	job      float64 // response to the head of the callback at the sink
	recorded float64 // from the creation of the job to its end, as the hub recorded them
}

// post submits a request, awaits its callback, and verifies how many objects it created and updated.
func (f *fixture) post(who hubtest.Tenant, path string, body []byte, created, updated int) journey {
	f.sink.reset(0)
	taken := f.submit(who, path, body)
	callback := f.sink.await("/hook", 1, 20*time.Second)[0]
	verify(strings.Contains(callback.Head, taken.Reference), "a callback other than that of %s: %s", taken.Reference,
		callback.Head)
	return journey{inMilliseconds(taken.responded.Sub(taken.sent)),
		inMilliseconds(callback.time().Sub(taken.responded)), f.outcome(who, taken.Reference, created, updated)}
}

// outcome verifies what a finished job changed, without an error, and returns how many milliseconds it took.
func (f *fixture) outcome(who hubtest.Tenant, reference string, created, updated int) float64 {
	var result string
	var began, ended time.Time
	check(f.sql.QueryRowContext(f.ctx,
		`SELECT result, created_at, finished_at FROM jobs WHERE business_id = ? AND id = ? AND state = 'done'`, who.ID,
		reference).Scan(&result, &began, &ended))
	type stats struct{ Created, Updated, Errors int }
	var all struct {
		stats
		Stats map[string]stats // by kind, of menus
	}
	check(json.Unmarshal([]byte(result), &all))
	got := all.stats
	for _, kind := range all.Stats {
		got = stats{got.Created + kind.Created, got.Updated + kind.Updated, got.Errors + kind.Errors}
	}
	verify(got == stats{created, updated, 0}, "the job is %s, not %d created and %d updated", result, created, updated)
	return inMilliseconds(ended.Sub(began))
}

// hub is the built hub, serving.
type hub struct {
	base    string // such as http://127.0.0.1:41234
	began   time.Time
	process *exec.Cmd
	wait    func() error // for the end of the process
	client  *http.Client
}

// startHub starts the built hub on the database, without rate limits, and waits until it is ready.
func (f *fixture) startHub(variables ...string) *hub {
	dir := must(os.MkdirTemp(f.scratch, "hub"))
	h := &hub{base: fmt.Sprint("http://127.0.0.1:", hubtest.Port(f)), began: time.Now(),
		process: exec.CommandContext(f.ctx, f.Hub, "serve"), client: &http.Client{Timeout: 30 * time.Second}}
	h.process.Env = append(f.environment(dir), "SERVERY_LISTEN="+h.host(), "SERVERY_WEBHOOK_ALLOW=127.0.0.0/8",
		"SERVERY_LOG_FILE="+filepath.Join(dir, "servery.log"))
	for _, limit := range []string{"STORES", "MENU", "WEBHOOKS", "READ", "RIDER", "LOCATION", "OPERATIONS",
		"ORDER_UPDATES", "CALLBACKS"} {
		h.process.Env = append(h.process.Env, "SERVERY_LIMIT_"+limit+"=off")
	}
	h.process.Env = append(h.process.Env, variables...)
	h.process.Stderr = os.Stderr
	h.process.Cancel = func() error { return h.process.Process.Signal(syscall.SIGTERM) }
	h.process.WaitDelay = 15 * time.Second
	err := h.process.Start()
	verify(err == nil, "starting the hub, which `make build` builds: %v", err)
	h.wait = sync.OnceValue(h.process.Wait)
	f.Cleanup(h.stop)
	f.until(20*time.Second, "the hub starts", func() bool {
		response, err := h.client.Get(h.base + "/readyz")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	return h
}

// environment is that of the hub's program.
func (f *fixture) environment(dataDir string) []string {
	return append(withoutSettings(), "SERVERY_DATABASE_URL="+f.address, "SERVERY_SECRET_KEY="+hubtest.SecretKey,
		"SERVERY_DATA_DIR="+dataDir)
}

// withoutSettings is this process's environment without the hub's variables.
func withoutSettings() []string {
	return slices.DeleteFunc(os.Environ(), func(pair string) bool { return strings.HasPrefix(pair, "SERVERY_") })
}

// do sends a request and copies the body of the response.
func (h *hub) do(request *http.Request, into io.Writer) *http.Response {
	response := must(h.client.Do(request))
	defer response.Body.Close()
	must(io.Copy(into, response.Body))
	return response
}

// host is the address without the scheme.
func (h *hub) host() string { return strings.TrimPrefix(h.base, "http://") }

// stop ends the hub gracefully, or by force after a while.
func (h *hub) stop() {
	h.client.CloseIdleConnections()
	force := time.AfterFunc(15*time.Second, func() { _ = h.process.Process.Kill() })
	defer force.Stop()
	_ = h.process.Process.Signal(syscall.SIGTERM)
	_ = h.wait()
}

// copyFloor writes rows in the cheapest way: COPY into staging tables of the session, and one merge of each.
type copyFloor struct {
	*fixture
	conn   bun.Conn
	tables []floorTable
}

// floorTable is a table that the floor writes.
type floorTable struct {
	name, key      string // the key is what the merge finds rows by, besides the business
	columns, merge string
}

// copyFloor prepares the floor for tables, so that it writes the columns that the hub writes.
func (f *fixture) copyFloor(tables ...floorTable) *copyFloor {
	floor := &copyFloor{f, must(f.sql.Conn(f.ctx)), tables}
	f.Cleanup(func() { _ = floor.conn.Close() })
	for i := range tables {
		t := &tables[i]
		var columns, sets []string
		check(floor.conn.NewRaw(`SELECT column_name FROM information_schema.columns
			WHERE table_name = ? AND column_name <> 'business_id' ORDER BY ordinal_position`, t.name).
			Scan(f.ctx, &columns))
		t.columns = strings.Join(columns, ", ")
		must(floor.conn.ExecContext(f.ctx, fmt.Sprintf(`CREATE TEMP TABLE floor_%[1]s ON COMMIT DELETE ROWS AS
			SELECT %[2]s FROM %[1]s WITH NO DATA`, t.name, t.columns)))
		for _, column := range columns {
			if column != "id" && !slices.Contains(strings.Split(t.key, ", "), column) {
				sets = append(sets, column+" = excluded."+column)
			}
		}
		t.merge = fmt.Sprintf(`INSERT INTO %[1]s (business_id, %[2]s) SELECT ?, %[2]s FROM floor_%[1]s
			ON CONFLICT (business_id, %[3]s) DO UPDATE SET %[4]s`, t.name, t.columns, t.key, strings.Join(sets, ", "))
	}
	return floor
}

// stored reads the rows that the hub has stored for a business, of each table in COPY's text format.
func (c *copyFloor) stored(business core.BusinessID) (all [][]byte) {
	for _, t := range c.tables {
		var rows bytes.Buffer
		must(pgdriver.CopyTo(c.ctx, c.conn, &rows, fmt.Sprintf("COPY (SELECT %s FROM %s WHERE business_id = %d "+
			"ORDER BY %s) TO STDOUT", t.columns, t.name, business, t.key)))
		all = append(all, rows.Bytes())
	}
	return all
}

// write writes the rows for a business in one transaction.
func (c *copyFloor) write(business core.BusinessID, rows [][]byte) {
	tx := must(c.conn.BeginTx(c.ctx, nil))
	defer func() { _ = tx.Rollback() }()
	for i, t := range c.tables {
		must(pgdriver.CopyFrom(c.ctx, c.conn, bytes.NewReader(rows[i]), "COPY floor_"+t.name+" FROM STDIN"))
		must(tx.ExecContext(c.ctx, t.merge, business))
	}
	check(tx.Commit())
}
