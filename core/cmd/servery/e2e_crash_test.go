package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/devpg"
	"github.com/servery-hub/servery/core/internal/hubtest"
)

var kills = flag.Int("kills", defaultKills(), "how often a hub is killed while it takes in orders")

// defaultKills is small outside CI, because a developer waits for each start of a hub.
func defaultKills() int {
	if os.Getenv("CI") != "" {
		return 8
	}
	return 3
}

// A killed hub is restarted, except the last one, whose work another hub finishes.
func TestKilledHubLosesNothing(t *testing.T) {
	database := hubtest.HubDatabaseURL(t)
	env, sink := onDatabase(database), newCallbackSink(t, 20*time.Millisecond)
	hub := startHub(t, env)
	load := startLoad(t, env, hub.URL, sink, 3)
	for range *kills - 1 {
		load.awaitAccepted(t, rand.IntN(60)) // the time of the crash is an input of the test
		hub.Kill()
		hub = startHub(t, env)
		load.setHubs(hub.URL)
	}
	second := startHub(t, env)
	load.setHubs(hub.URL, second.URL)
	for _, one := range []*hubtest.Hub{hub, second} {
		eventually(t, waitTimeout, func() error {
			jobs, deliveries := countRows(t, one.URL)
			if jobs < 20 || deliveries < 20 {
				return fmt.Errorf("%s has done %d jobs and %d deliveries", one.URL, jobs, deliveries)
			}
			return nil
		})
	}
	hub.Kill()
	load.setHubs(second.URL)
	load.awaitAccepted(t, 50)
	load.stop()
	load.requireNothingLost(t, sink, database, second.URL)
}

func TestPostgresRestartLosesNothing(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	pg := joinPostgres(t, dir)
	env, sink := onDatabase(pg.DSN()), newCallbackSink(t, 0)
	hub := startHub(t, env)
	load := startLoad(t, env, hub.URL, sink, 3)
	for _, crash := range []func(testing.TB, int){immediateShutdown, hubtest.KillWithChildren} {
		load.awaitAccepted(t, 100)
		pid := hubtest.Postmaster(t, dir)
		crash(t, pid)
		load.awaitFailures(t, 20)
		joinPostgres(t, dir)
		require.NotEqual(t, pid, hubtest.Postmaster(t, dir))
		load.awaitAccepted(t, 100)
		require.True(t, hub.Running())
	}
	load.stop()
	load.requireNothingLost(t, sink, pg.DSN(), hub.URL)
	require.True(t, hub.Running())
}

func openDir(t *testing.T) string {
	t.Helper()
	return hubtest.OpenDir(t, "servery-e2e-data-", false)
}

// joinPostgres starts or joins the durable private PostgreSQL of the directory.
func joinPostgres(t *testing.T, dir string) *devpg.Server {
	t.Helper()
	pg, err := devpg.Start(t.Context(), devpg.Config{DataDir: dir, Install: true, Log: hubtest.Logger()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pg.Close(context.Background())) })
	return pg
}

func immediateShutdown(t testing.TB, pid int) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, syscall.SIGQUIT))
}

var (
	jobsDone = regexp.MustCompile(
		`(?m)^servery_job_duration_seconds_count\{kind="stores",outcome="done"\} (\d+)$`)
	deliveriesDone = regexp.MustCompile(
		`(?m)^servery_deliveries_total\{event_type="store_creation",state="delivered"\} (\d+)$`)
)

// countRows counts the finished jobs and deliveries of a hub.
func countRows(t *testing.T, hub string) (jobs, deliveries int) {
	t.Helper()
	response := hubtest.Call(t, "GET", hub+"/metrics", "", nil)
	require.Equal(t, http.StatusOK, response.Status)
	count := func(form *regexp.Regexp) int {
		match := form.FindSubmatch(response.Body)
		if match == nil {
			return 0
		}
		n, err := strconv.Atoi(string(match[1]))
		require.NoError(t, err)
		return n
	}
	return count(jobsDone), count(deliveriesDone)
}

func TestWorkerProcessesWhatAnotherHubAccepts(t *testing.T) {
	database := hubtest.HubDatabaseURL(t)
	env, sink := onDatabase(database), newCallbackSink(t, 0)
	api := startHub(t, env, "--roles", "api")
	worker := startHub(t, env, "--roles", "worker")
	load := startLoad(t, env, api.URL, sink, 2)
	load.awaitAccepted(t, 50)
	load.stop()
	load.requireNothingLost(t, sink, database, api.URL)
	jobs, deliveries := countRows(t, api.URL)
	require.Zero(t, jobs+deliveries)
	eventually(t, waitTimeout, func() error { // a job is counted after its transaction
		jobs, deliveries = countRows(t, worker.URL)
		if jobs < len(load.accepted) || deliveries < len(load.accepted) {
			return fmt.Errorf("%d jobs and %d deliveries of %d", jobs, deliveries, len(load.accepted))
		}
		return nil
	})
	require.Equal(t, http.StatusNotFound,
		hubtest.Call(t, "GET", worker.URL+storesPath, load.clients[0].client.authorization, nil).Status)
}

func TestGracefulStopLosesAndRepeatsNothing(t *testing.T) {
	database := hubtest.HubDatabaseURL(t)
	env, sink := withLongLeases(onDatabase(database)), newCallbackSink(t, 150*time.Millisecond)
	hub := startHub(t, env)
	load := startLoad(t, env, hub.URL, sink, 3)
	for range 3 {
		load.awaitAccepted(t, 100)
		require.Zero(t, hub.Terminate(t), "exit status")
		load.awaitFailures(t, 1)
		hub = startHub(t, env)
		load.setHubs(hub.URL)
	}
	load.awaitAccepted(t, 10)
	load.stop()
	require.Zero(t, load.errors())
	load.requireNothingLost(t, sink, database, hub.URL)
	jobs := openTestDatabase(t, database).jobs(t)
	for reference, job := range jobs {
		require.Contains(t, load.accepted, reference, "request %s was accepted without an answer", job.requestID)
		require.Len(t, sink.arrivals(t)[reference], 1)
	}
	require.Zero(t, hub.Terminate(t))
	require.Equal(t, openTestDatabase(t, database).number(t, `SELECT count(*) FROM attempts`),
		openTestDatabase(t, database).number(t,
			`SELECT sum(succeeded + failed) FROM attempt_counts WHERE webhook_id = 0 AND bucket_seconds = 3600`))
}
