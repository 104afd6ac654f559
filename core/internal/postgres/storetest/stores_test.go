package storetest

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	jobsdb "github.com/servery-hub/servery/core/internal/postgres/jobs"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	"github.com/servery-hub/servery/core/internal/postgres/stores"
	"github.com/servery-hub/servery/core/job"
	"github.com/servery-hub/servery/core/store"
)

// enqueue queues a store request as the API does.
func enqueue(t *testing.T, db *postgres.DB, business core.BusinessID, body string) core.ID {
	t.Helper()
	now := db.Clock().Now()
	id := core.NewID(now)
	require.NoError(t, jobsdb.New(db).Enqueue(context.Background(),
		core.Job{ID: id, Business: business, Kind: core.StoreJob, Body: []byte(body), CreatedAt: now}, "request"))
	return id
}

// runJobs runs all queued jobs.
func runJobs(t *testing.T, db *postgres.DB) {
	t.Helper()
	handlers := map[core.JobKind]job.Handler{core.StoreJob: store.Ingestor{Storage: stores.New(db), Clock: db.Clock()}}
	stop := startRunner(t, db, job.Config{}, handlers)
	eventually(t, "jobs done", func() bool {
		backlog, err := schema.ReadBacklog(context.Background(), db)
		return err == nil && backlog.Jobs == 0
	})
	stop()
}

func startRunner(t *testing.T, db *postgres.DB, config job.Config,
	handlers map[core.JobKind]job.Handler) (stop func()) {
	t.Helper()
	runner := job.NewRunner(config, job.Dependencies{Queue: jobsdb.New(db), Handlers: handlers, Clock: db.Clock(),
		Observer: noObserver{}, Log: hubtest.Logger()})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		runner.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(stop)
	return stop
}

func readStore(t *testing.T, db *postgres.DB, business core.BusinessID, ref string) map[string]any {
	t.Helper()
	stored, err := stores.New(db).Get(context.Background(), business, ref)
	require.NoError(t, err)
	encoded, err := json.Marshal(stored)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(encoded, &fields))
	return fields
}

func TestEveryStoreFieldReadsBackAsSent(t *testing.T) {
	db := hubtest.Database(t, nil)
	tenant := hubtest.Business(t, db)
	const full = `{"ref_id":"S \t\n\\ \"'#/ñ","city":"Łódź\\","name":"{\"a\",b}","min_pickup_time":0,` +
		`"min_delivery_time":2147483647,"contact_phone":"+1 (510) 555",
		"notification_phones":["a,b","{\"x\"}","NULL","\\"],"notification_emails":["a@example.com"],` +
		`"min_order_value":123456789012.3456789,
		"hide_from_ui":true,"address":"line 1\nline 2\t\u2028","zip_codes":["94607"],` +
		`"geo_longitude":-122.27123456789012,"geo_latitude":1e-7,
		"active":false,"ordering_enabled":false,"translations":[{"language":"ar","name":"مرحبا 👩‍👩‍👧"}],` +
		`"excluded_platforms":["web"],
		"platform_data":[{"name":"app","url":"https://a.example/s?x=1&y=2","platform_store_id":"007"}],
		"timings":[{"day":"monday","slots":[{"start_time":"22:00:00","end_time":"02:00:00"}]},{"day":"tuesday",` +
		`"slots":[]}],"special_timings":[{"date":"2026-12-25","closed":true,"reason":"Christmas","slots":[]},` +
		`{"date":"2026-12-26","slots":[{"start_time":"10:00:00","end_time":"14:00:00"}]}]}`
	enqueue(t, db, tenant.ID, `{"stores":[`+full+`]}`)
	runJobs(t, db)
	var sent map[string]any
	require.NoError(t, json.Unmarshal([]byte(full), &sent))
	got := readStore(t, db, tenant.ID, sent["ref_id"].(string))
	require.Positive(t, got["id"])
	delete(got, "id")
	require.Equal(t, sent, got)
}

func TestOmittedStoreFieldsStayUnchanged(t *testing.T) {
	db := hubtest.Database(t, nil)
	tenant := hubtest.Business(t, db)
	send := func(fields string) map[string]any {
		enqueue(t, db, tenant.ID, `{"stores":[{"ref_id":"a"`+fields+`}]}`)
		runJobs(t, db)
		got := readStore(t, db, tenant.ID, "a")
		delete(got, "id")
		return got
	}
	created := send(`,"name":"N","city":"C"`)
	require.Equal(t, map[string]any{"ref_id": "a", "name": "N", "city": "C", "active": true, "ordering_enabled": true,
		"hide_from_ui": false}, created)
	require.Equal(t, created, send(``))
	changed := send(`,"name":"M","active":false,"zip_codes":["1","2"],"included_platforms":["web"]`)
	require.Equal(t, []any{"1", "2"}, changed["zip_codes"])
	require.Equal(t, changed, send(`,"active":null,"zip_codes":null`), "null is not sent")
	require.Equal(t, []any{}, send(`,"zip_codes":[]`)["zip_codes"], "an empty list replaces")
	zeros := send(`,"min_order_value":0,"min_pickup_time":0,"geo_latitude":0,"geo_longitude":0`)
	for _, field := range []string{"min_order_value", "min_pickup_time", "geo_latitude", "geo_longitude"} {
		require.Equal(t, 0.0, zeros[field], "zero is a value")
	}
	moved := send(`,"excluded_platforms":["web"]`)
	require.Equal(t, []any{"web"}, moved["excluded_platforms"])
	require.NotContains(t, moved, "included_platforms", "one list is in force: the one that came last")
	back := send(`,"included_platforms":[]`)
	require.Equal(t, []any{}, back["included_platforms"])
	require.NotContains(t, back, "excluded_platforms")
}

func TestBusinessesDoNotSeeEachOthersStores(t *testing.T) {
	db := hubtest.Database(t, nil)
	one, two := hubtest.Business(t, db), hubtest.Business(t, db)
	enqueue(t, db, one.ID, `{"stores":[{"ref_id":"a","name":"of one","city":"C"}]}`)
	enqueue(t, db, two.ID, `{"stores":[{"ref_id":"a","name":"of two","city":"C"}]}`)
	enqueue(t, db, two.ID, `{"stores":[{"ref_id":"a","city":"D"}]}`)
	runJobs(t, db)
	require.Equal(t, "C", readStore(t, db, one.ID, "a")["city"])
	require.Equal(t, "of two", readStore(t, db, two.ID, "a")["name"])
	enqueue(t, db, two.ID, `{"stores":[{"ref_id":"b","name":"only two has it","city":"C"}]}`)
	runJobs(t, db)
	_, err := stores.New(db).Get(context.Background(), one.ID, "b")
	require.Equal(t, core.NotFound, core.CodeOf(err))
	page, err := stores.New(db).Page(context.Background(), one.ID, "", 10)
	require.NoError(t, err)
	require.Len(t, page.Stores, 1)
	require.False(t, page.More)
}

func TestPageOfLargeStoresEndsAfterItsBytes(t *testing.T) {
	db := hubtest.Database(t, nil)
	tenant := hubtest.Business(t, db)
	codes, err := json.Marshal(slices.Repeat([]string{strings.Repeat("ñ", 200)}, 2000)) // 800 KB, stored compressed
	require.NoError(t, err)
	random := make([]byte, 300<<10) // in hexadecimal 600 KB, stored as they are
	_, _ = rand.NewChaCha8([32]byte{}).Read(random)
	var numbers []string
	for part := range slices.Chunk(random, 100) {
		numbers = append(numbers, hex.EncodeToString(part))
	}
	phones, err := json.Marshal(numbers)
	require.NoError(t, err)
	const count = 24
	list := make([]string, count)
	for i := range list {
		field := `"zip_codes":` + string(codes)
		if i%2 == 1 {
			field = `"notification_phones":` + string(phones)
		}
		list[i] = fmt.Sprintf(`{"ref_id":"s%02d","name":"N","city":"C",%s}`, i, field)
	}
	enqueue(t, db, tenant.ID, `{"stores":[`+strings.Join(list, ",")+`]}`)
	enqueue(t, db, tenant.ID,
		`{"stores":[{"ref_id":"t1","name":"N","city":"C"},{"ref_id":"t2","name":"N","city":"C"}]}`)
	runJobs(t, db)
	reader := stores.New(db)
	seen := 0
	for after := ""; seen < count; {
		page, err := reader.Page(t.Context(), tenant.ID, after, 1000)
		require.NoError(t, err)
		require.NotEmpty(t, page.Stores)
		require.Less(t, page.Bytes, int64(store.MaxPageBytes+1<<20))
		require.Greater(t, page.Bytes, int64(len(page.Stores)*600_000))
		require.Equal(t, fmt.Sprintf("s%02d", seen), *page.Stores[0].RefID)
		seen += len(page.Stores)
		if after = page.Next(); seen < count+2 {
			require.Equal(t, *page.Stores[len(page.Stores)-1].RefID, after)
		}
	}
	page, err := reader.Page(t.Context(), tenant.ID, "t", 1)
	require.NoError(t, err)
	require.Equal(t, "t1", page.Next())
	page, err = reader.Page(t.Context(), tenant.ID, "t1", 1)
	require.NoError(t, err)
	require.Len(t, page.Stores, 1)
	require.Empty(t, page.Next())
	page, err = reader.Page(t.Context(), tenant.ID, "t2", 1)
	require.NoError(t, err)
	require.Empty(t, page.Stores)
	require.Empty(t, page.Next())
}

// recorder is a job handler that records its calls and runs the test's functions.
type recorder struct {
	mu   sync.Mutex
	runs []string
	run  func(ctx context.Context, work core.Job) error
	fail func(work core.Job, cause error) error
}

func (r *recorder) Run(ctx context.Context, work core.Job, report func(int, int)) error {
	r.mu.Lock()
	r.runs = append(r.runs, string(work.Body))
	r.mu.Unlock()
	report(1, 2)
	return r.run(ctx, work)
}

func (r *recorder) Fail(_ context.Context, work core.Job, cause error) error {
	return r.fail(work, cause)
}

func (r *recorder) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.runs...)
}

func TestJobsRunInOrderWithinEachBusiness(t *testing.T) {
	db := hubtest.Database(t, nil)
	slow, quick := hubtest.Business(t, db), hubtest.Business(t, db)
	ingestor := store.Ingestor{Storage: stores.New(db), Clock: db.Clock()}
	release := make(chan struct{})
	gate := &recorder{run: func(ctx context.Context, work core.Job) error {
		if work.Business == slow.ID {
			<-release
		}
		return ingestor.Run(ctx, work, func(int, int) {})
	}}
	body := func(i int) string { return fmt.Sprintf(`{"stores":[{"ref_id":"a","name":"n%d","city":"C"}]}`, i) }
	for i := range 5 {
		enqueue(t, db, slow.ID, body(i))
		enqueue(t, db, quick.ID, body(100+i))
	}
	startRunner(t, db, job.Config{Parallel: 8}, map[core.JobKind]job.Handler{core.StoreJob: gate})
	eventually(t, "the quick business is done while the slow one waits", func() bool { return len(gate.got()) == 6 })
	close(release)
	eventually(t, "all", func() bool {
		backlog, err := schema.ReadBacklog(context.Background(), db)
		return err == nil && backlog.Jobs == 0
	})
	var ofSlow, ofQuick []string
	for _, run := range gate.got() {
		if len(run) == len(body(1)) {
			ofSlow = append(ofSlow, run)
		} else {
			ofQuick = append(ofQuick, run)
		}
	}
	for i := range 5 {
		require.Equal(t, body(i), ofSlow[i])
		require.Equal(t, body(100+i), ofQuick[i])
	}
	require.Equal(t, "n4", readStore(t, db, slow.ID, "a")["name"])
}

func TestExhaustedJobFailsAndSendsItsCallback(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	tenant := hubtest.Business(t, db)
	ingestor := store.Ingestor{Storage: stores.New(db), Clock: clock}
	broken := &recorder{
		run:  func(context.Context, core.Job) error { panic("broken") },
		fail: func(work core.Job, cause error) error { return ingestor.Fail(context.Background(), work, cause) },
	}
	reference := enqueue(t, db, tenant.ID, `{"stores":[{"ref_id":"a","name":"N","city":"C"}]}`)
	startRunner(t, db, job.Config{MaxAttempts: 3, Poll: time.Hour}, map[core.JobKind]job.Handler{core.StoreJob: broken})
	for n := range 3 {
		eventually(t, "attempt", func() bool { return len(broken.got()) == n+1 })
		eventually(t, "given back or ended",
			func() bool { state, _ := jobState(t, db, reference); return state != "running" })
		clock.Advance(time.Minute)
	}
	eventually(t, "failed", func() bool { state, _ := jobState(t, db, reference); return state == "failed" })
	_, message := jobState(t, db, reference)
	require.Contains(t, message, "panic: broken")
	require.Contains(t, string(pgtest.EventBody(t, db, reference)), `"stats":{"created":0,"updated":0,"errors":1}`)
	_, err := stores.New(db).Get(context.Background(), tenant.ID, "a")
	require.Equal(t, core.NotFound, core.CodeOf(err))
}

func jobState(t *testing.T, db *postgres.DB, reference core.ID) (state, message string) {
	t.Helper()
	state, message, err := pgtest.JobState(context.Background(), db, reference)
	require.NoError(t, err)
	return state, message
}

func TestALostLeaseWritesNothing(t *testing.T) {
	ctx, clock := context.Background(), clocktest.New()
	db := hubtest.Database(t, clock)
	tenant := hubtest.Business(t, db)
	jobs := jobsdb.New(db)
	enqueue(t, db, tenant.ID, `{"stores":[{"ref_id":"a","name":"N","city":"C"}]}`)
	stalled, _, err := jobs.Claim(ctx, core.ID{1}, 1, clock.Now().Add(time.Minute))
	require.NoError(t, err)
	require.Len(t, stalled, 1)
	none, next, err := jobs.Claim(ctx, core.ID{2}, 1, clock.Now().Add(time.Minute))
	require.NoError(t, err)
	require.Empty(t, none)
	require.WithinDuration(t, clock.Now().Add(time.Minute), next, time.Millisecond)
	clock.Advance(time.Minute)
	taken, _, err := jobs.Claim(ctx, core.ID{2}, 1, clock.Now().Add(time.Minute))
	require.NoError(t, err)
	require.Len(t, taken, 1)
	require.Equal(t, 2, taken[0].Attempts)

	ingestor := store.Ingestor{Storage: stores.New(db), Clock: clock}
	silent := func(int, int) {}
	require.Equal(t, core.Conflict, core.CodeOf(ingestor.Run(ctx, stalled[0], silent)))
	_, err = stores.New(db).Get(ctx, tenant.ID, "a")
	require.Equal(t, core.NotFound, core.CodeOf(err))
	require.NoError(t, ingestor.Run(ctx, taken[0], silent))
	require.Equal(t, core.Conflict, core.CodeOf(ingestor.Run(ctx, taken[0], silent)), "a job ends once")
	require.Equal(t, "N", readStore(t, db, tenant.ID, "a")["name"])
}

func TestFailedStoreIngestKeepsTheJob(t *testing.T) {
	ctx := context.Background()
	db := hubtest.Database(t, nil)
	tenant := hubtest.Business(t, db)
	enqueue(t, db, tenant.ID, `{"stores":[{"ref_id":"a","name":"N","city":"C"}]}`)
	claimed, _, err := jobsdb.New(db).Claim(ctx, core.ID{1}, 1, db.Clock().Now().Add(time.Minute))
	require.NoError(t, err)
	broke := errors.New("broke")
	err = stores.New(db).Ingest(ctx, claimed[0], store.Request{},
		func(store.State, func() int64) (store.IngestResult, error) {
			return store.IngestResult{}, broke
		})
	require.ErrorIs(t, err, broke)
	backlog, err := schema.ReadBacklog(ctx, db)
	require.NoError(t, err)
	require.Equal(t, int64(1), backlog.Jobs)
}

func TestRealStoresReadBackAsSent(t *testing.T) {
	if testing.Short() {
		t.Skip(oneGoroutine)
	}
	body, err := os.ReadFile("../../../../../shared/data/stores-california.json")
	if err != nil {
		t.Skip("the large data files are not beside this checkout")
	}
	db := hubtest.Database(t, nil)
	tenant := hubtest.Business(t, db)
	var sent struct{ Stores []map[string]any }
	require.NoError(t, json.Unmarshal(body, &sent))
	for _, want := range []string{`"stats":{"created":2558,"updated":0,"errors":0}`,
		`"stats":{"created":0,"updated":2558,"errors":0}`} {
		reference := enqueue(t, db, tenant.ID, string(body))
		runJobs(t, db)
		require.Contains(t, string(pgtest.EventBody(t, db, reference)), want)
	}
	for _, want := range sent.Stores {
		got := readStore(t, db, tenant.ID, want["ref_id"].(string))
		delete(got, "id")
		for _, defaulted := range []string{"active", "ordering_enabled", "hide_from_ui"} {
			if _, given := want[defaulted]; !given {
				delete(got, defaulted)
			}
		}
		require.Equal(t, want, got)
	}
}
