package main

import (
	"bytes"
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/driver/pgdriver"
	"github.com/valyala/fasthttp"
	"go.yaml.in/yaml/v3"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
)

//go:embed *.sql *.yaml
var files embed.FS

// decode reads an embedded YAML file.
func decode(file string, into any) {
	decoder := yaml.NewDecoder(bytes.NewReader(must(files.ReadFile(file))))
	decoder.KnownFields(true)
	check(decoder.Decode(into))
}

// queries are the longer statements.
var queries = postgres.MustLoadQueries(files)

// fixture is a fresh database with the present schema, an endpoint, and the built hub once it is started.
type fixture struct {
	*run
	database string
	env      hubtest.Environment // of the hub's program
	db       *postgres.DB
	sql      *bun.DB // the hub's driver without the hub: measures floors, and counts what is stored
	sink     *sink
	hub      *hubtest.Hub
	http     *http.Client
	orders   int // posted so far, by all shops: each has another number
}

func (r *run) open() *fixture {
	r.databases++
	name := fmt.Sprintf("bench_%d", r.databases)
	r.create(name)
	r.Cleanup(func() { // so that its upkeep does not disturb the next measurement
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		_ = schema.DropDatabase(ctx, r.admin, name)
	})
	return r.use(name)
}

// create creates a database. It drops that of an earlier run that was killed.
func (r *run) create(name string) {
	check(schema.DropDatabase(r.ctx, r.admin, name))
	check(schema.CreateDatabase(r.ctx, r.admin, name, r.server.User(), "template1"))
}

// use connects to a database, and gives it the present schema.
func (r *run) use(name string) *fixture {
	address := must(url.Parse(r.server.DSN()))
	address.Host = name
	f := &fixture{run: r, database: name, http: &http.Client{Timeout: 30 * time.Second},
		db: hubtest.Connect(r, address.String(), nil)}
	f.env = hubtest.HubEnvironment(address.String(), "STORES", "MENU", "WEBHOOKS", "READ", "RIDER", "LOCATION",
		"OPERATIONS", "ORDER_UPDATES", "CALLBACKS")
	must(schema.MigrateUp(r.ctx, f.db))
	check(f.db.CheckSeal(r.ctx))
	check(schema.Maintain(r.ctx, f.db, historyDays*24*time.Hour))
	f.sql = openSQL(address.String(), publishers)
	r.Cleanup(func() { _ = f.sql.Close() })
	f.sink = r.startSink()
	return f
}

// openSQL connects to the private PostgreSQL.
func openSQL(address string, connections int) *bun.DB {
	pool := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(address), pgdriver.WithBufferSize(64<<10),
		pgdriver.WithTimeout(10*time.Minute)))
	pool.SetMaxOpenConns(connections)
	pool.SetMaxIdleConns(connections)
	return bun.NewDB(pool, pgdialect.New())
}

func (r *run) openHub(settings ...string) *fixture {
	f := r.open()
	f.hub = f.startHub(settings...)
	return f
}

// startHub starts the built hub on the database, without rate limits, and waits until it is ready.
func (f *fixture) startHub(settings ...string) *hubtest.Hub {
	dir := must(os.MkdirTemp(f.scratch, "hub"))
	env := f.env.With("SERVERY_DATA_DIR", dir, "SERVERY_LOG_FILE", filepath.Join(dir, "servery.log"),
		"SERVERY_LISTEN", fmt.Sprint("127.0.0.1:", hubtest.Port(f))).With(settings...)
	h := hubtest.NewHub(f.Hub, env)
	h.Cmd.Stderr = os.Stderr
	h.Start(f)
	f.Cleanup(func() { f.stopHub(h) })
	h.AwaitReady(f)
	return h
}

// stopHub ends a hub gracefully.
func (f *fixture) stopHub(h *hubtest.Hub) {
	f.http.CloseIdleConnections()
	h.Terminate(f)
}

// resident and peak are a hub's resident memory in megabytes, now and at most.
func resident(h *hubtest.Hub) float64 { return float64(status(h).VmRSS) / (1 << 20) }
func peak(h *hubtest.Hub) float64     { return float64(status(h).VmHWM) / (1 << 20) }

func status(h *hubtest.Hub) procfs.ProcStatus { return must(must(procfs.NewProc(h.PID())).NewStatus()) }

func (f *fixture) execute(query string, args ...any) { must(f.sql.ExecContext(f.ctx, query, args...)) }

func (f *fixture) scan(into []any, query string, args ...any) {
	check(f.sql.QueryRowContext(f.ctx, query, args...).Scan(into...))
}

func (f *fixture) count(query string, args ...any) (n int) {
	f.scan([]any{&n}, query, args...)
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

// client is a business that calls the hub.
type client struct {
	*fixture
	hubtest.Tenant
}

// business creates one whose callbacks go to the sink. The country decides which taxes a menu may have.
func (f *fixture) business(country string) *client {
	return f.prepare(hubtest.Business(f, f.db), country)
}

// prepare sets the country of a business, and sends its callbacks to the sink.
func (f *fixture) prepare(who hubtest.Tenant, country string) *client {
	if country != "US" {
		f.execute(`UPDATE businesses SET country = ?, currency = 'INR' WHERE id = ?`, country, who.ID)
	}
	for _, event := range []core.EventType{core.StoreCreation, core.InventoryUpdate} {
		hubtest.SubscribeSeconds(f, f.db, who.ID, event, f.sink.url)
	}
	return &client{f, who}
}

// send makes a request, with a JSON body unless that is nil, and returns the body of the response.
func (f *fixture) send(path, authorization string, body []byte) []byte {
	response, content := f.do(f.request(path, authorization, body))
	verify(response.StatusCode == http.StatusOK, "%s: %s: %s", path, response.Status, content)
	return content
}

func (f *fixture) request(path, authorization string, body []byte) *http.Request {
	method := http.MethodGet
	if body != nil {
		method = http.MethodPost
	}
	request := must(http.NewRequestWithContext(f.ctx, method, f.hub.URL+path, bytes.NewReader(body)))
	request.Header.Set("Content-Type", "application/json")
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	return request
}

func (f *fixture) do(request *http.Request) (*http.Response, []byte) {
	response := must(f.http.Do(request))
	defer response.Body.Close()
	return response, must(io.ReadAll(response.Body))
}

// connections is how many the load uses at once.
const connections = 64

// poster sends bodies as cheaply as possible, each goroutine over its own connection.
type poster struct {
	client             *fasthttp.HostClient
	uri, authorization string
	server             int // its process, if known
}

func (r *run) newPoster(uri, authorization string) *poster {
	p := &poster{uri: uri, authorization: authorization, client: &fasthttp.HostClient{Addr: must(url.Parse(uri)).Host,
		MaxConns: connections, ReadTimeout: 20 * time.Second, WriteTimeout: 20 * time.Second}}
	r.Cleanup(p.client.CloseIdleConnections)
	return p
}

// post posts a body. It ends the measurement unless the response is 200.
func (p *poster) post(body []byte) { check(p.send(fasthttp.MethodPost, "", body)) }

// send sends a body to a path below that of the poster. It fails unless the response is 200.
func (p *poster) send(method, path string, body []byte) error {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.SetRequestURI(p.uri + path)
	request.Header.SetMethod(method)
	request.Header.SetContentType("application/json")
	request.Header.Set("Authorization", p.authorization)
	request.SetBodyRaw(body)
	err := p.client.Do(request, response)
	if err == nil && response.StatusCode() != fasthttp.StatusOK {
		err = fmt.Errorf("%s%s: %d: %s", p.uri, path, response.StatusCode(), response.Body())
	}
	return err
}

// Paths of requests.
const (
	storesPath = "/external/api/v1/stores/"
	masterPath = "/external/api/v1/inventory/locations/-1/"
	ordersPath = "/channel/api/v1/orders/"
)

func menuPath(store string) string { return "/external/api/v1/inventory/locations/" + store + "/" }

// submit posts a request whose response is a reference, which is its key.
func (c *client) submit(path string, body []byte) sent {
	taken := sent{began: time.Now()}
	content := c.send(path, c.Authorization, body)
	taken.returned = time.Now()
	var response struct{ Reference string }
	check(json.Unmarshal(content, &response))
	taken.key = response.Reference
	return taken
}

// journey is one request from its POST to its callback, in milliseconds.
type journey struct {
	accept   float64 // POST to response
	job      float64 // response to the head of the callback at the sink
	recorded float64 // from the creation of the job to its end, as the hub recorded them
}

// post submits a request, awaits its callback, and verifies how many objects it created and updated.
func (c *client) post(path string, body []byte, created, updated int) journey {
	c.sink.reset(0)
	taken := c.submit(path, body)
	callback := c.sink.await("/hook", 1, 20*time.Second)[0]
	verify(strings.Contains(callback.Head, taken.key), "a callback other than that of %s: %s", taken.key,
		callback.Head)
	return journey{inMilliseconds(taken.returned.Sub(taken.began)), inMilliseconds(callback.At.Sub(taken.returned)),
		c.outcome(taken.key, created, updated)}
}

// outcome verifies what a finished job changed, without an error, and returns how many milliseconds it took.
func (c *client) outcome(reference string, created, updated int) (took float64) {
	var got [3]int
	c.scan([]any{&took, &got[0], &got[1], &got[2]},
		queries.With("job_outcome", postgres.Args{"business": c.ID, "reference": reference}))
	verify(got == [3]int{created, updated, 0}, "the job created, updated and refused %v, not [%d %d 0]", got,
		created, updated)
	return took
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
		t, sets := &tables[i], ""
		f.scan([]any{&t.columns, &sets}, queries.With("floor_columns", postgres.Args{"table_name": t.name,
			"keys": pgdialect.Array(append(strings.Split(t.key, ", "), "id"))}))
		must(floor.conn.ExecContext(f.ctx, fmt.Sprintf(`CREATE TEMP TABLE floor_%[1]s ON COMMIT DELETE ROWS AS
			SELECT %[2]s FROM %[1]s WITH NO DATA`, t.name, t.columns)))
		t.merge = fmt.Sprintf(`INSERT INTO %[1]s (business_id, %[2]s) SELECT ?, %[2]s FROM floor_%[1]s
			ON CONFLICT (business_id, %[3]s) DO UPDATE SET %[4]s`, t.name, t.columns, t.key, sets)
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
