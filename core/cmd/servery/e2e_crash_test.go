package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/devpg"
	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestKilledHubLosesNothing(t *testing.T) {
	database := hubtest.HubDatabaseURL(t)
	env, sink := onDatabase(database), newCallbackSink(t, 0)
	rounds := *kills
	if testing.Short() {
		rounds = 4
	}
	hub := startHub(t, env)
	load := startLoad(t, env, hub.url, sink, 3)
	for range rounds {
		load.awaitAccepted(t, rand.IntN(60)) // the time of the crash is an input of the test
		hub.kill()
		hub = startHub(t, env)
		load.setHubs(hub.url)
	}
	load.awaitAccepted(t, 10)
	load.stop()
	require.Greater(t, len(load.accepted), 10*rounds)
	load.requireNothingLost(t, sink, database, hub.url)
}

func TestPostgresRestartLosesNothing(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	pg := joinPostgres(t, dir)
	env, sink := onDatabase(pg.DSN()), newCallbackSink(t, 0)
	hub := startHub(t, env)
	load := startLoad(t, env, hub.url, sink, 3)
	for _, crash := range []func(testing.TB, int){immediateShutdown, hubtest.KillWithChildren} {
		load.awaitAccepted(t, 100)
		pid := postmaster(t, dir)
		crash(t, pid)
		load.awaitFailures(t, 20)
		joinPostgres(t, dir)
		require.NotEqual(t, pid, postmaster(t, dir))
		load.awaitAccepted(t, 100)
		require.True(t, hub.running())
	}
	load.stop()
	load.requireNothingLost(t, sink, pg.DSN(), hub.url)
	require.True(t, hub.running())
}

// openDir creates a directory that the user of a private PostgreSQL can reach. At the end of the test, no process may
// run in it.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "servery-e2e-data-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	dir, err = filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	t.Cleanup(func() {
		defer os.RemoveAll(dir)
		requireNoProcess(t, dir)
	})
	return dir
}

// requireNoProcess waits until no process runs in the directory. It kills the others after a timeout.
func requireNoProcess(t *testing.T, dir string) {
	t.Helper()
	defer func() {
		for pid := range hubtest.ProcessesIn(dir) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}()
	eventually(t, 10*time.Second, func() error {
		if left := hubtest.ProcessesIn(dir); len(left) > 0 {
			return fmt.Errorf("processes %v were left running", left)
		}
		return nil
	})
}

// joinPostgres starts or joins the durable private PostgreSQL of the directory.
func joinPostgres(t *testing.T, dir string) *devpg.Server {
	t.Helper()
	pg, err := devpg.Start(t.Context(), devpg.Config{DataDir: dir, Install: true, Log: hubtest.Logger()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pg.Close(context.Background())) })
	return pg
}

func postmaster(t *testing.T, dir string) int {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "postgres", "postmaster.pid"))
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(content), "\n")
	pid, err := strconv.Atoi(first)
	require.NoError(t, err)
	return pid
}

func immediateShutdown(t testing.TB, pid int) {
	t.Helper()
	require.NoError(t, syscall.Kill(pid, syscall.SIGQUIT))
}

func TestSurvivingHubFinishesTheOthersWork(t *testing.T) {
	database := hubtest.HubDatabaseURL(t)
	env, sink := onDatabase(database), newCallbackSink(t, 20*time.Millisecond)
	first, second := startHub(t, env), startHub(t, env)
	load := startLoad(t, env, first.url, sink, 3)
	load.setHubs(first.url, second.url)
	for _, hub := range []*hubProcess{first, second} {
		eventually(t, waitTimeout, func() error {
			jobs, deliveries := countRows(t, hub.url)
			if jobs < 20 || deliveries < 20 {
				return fmt.Errorf("%s has done %d jobs and %d deliveries", hub.url, jobs, deliveries)
			}
			return nil
		})
	}
	first.kill()
	load.setHubs(second.url)
	load.awaitAccepted(t, 50)
	load.stop()
	load.requireNothingLost(t, sink, database, second.url)
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
	load := startLoad(t, env, api.url, sink, 2)
	load.awaitAccepted(t, 50)
	load.stop()
	load.requireNothingLost(t, sink, database, api.url)
	jobs, deliveries := countRows(t, api.url)
	require.Zero(t, jobs+deliveries)
	jobs, deliveries = countRows(t, worker.url)
	require.GreaterOrEqual(t, jobs, len(load.accepted))
	require.GreaterOrEqual(t, deliveries, len(load.accepted))
	require.Equal(t, http.StatusNotFound,
		hubtest.Call(t, "GET", worker.url+storesPath, load.clients[0].client.authorization, nil).Status)
}

func TestGracefulStopLosesAndRepeatsNothing(t *testing.T) {
	database := hubtest.HubDatabaseURL(t)
	env, sink := onDatabase(database), newCallbackSink(t, 150*time.Millisecond)
	hub := startHub(t, env)
	load := startLoad(t, env, hub.url, sink, 3)
	for range 3 {
		load.awaitAccepted(t, 100)
		require.Zero(t, hub.terminate(t), "exit status")
		load.awaitFailures(t, 1)
		hub = startHub(t, env)
		load.setHubs(hub.url)
	}
	load.awaitAccepted(t, 10)
	load.stop()
	require.Zero(t, load.errors())
	load.requireNothingLost(t, sink, database, hub.url)
	jobs := openTestDatabase(t, database).jobs(t)
	for reference, job := range jobs {
		require.Contains(t, load.accepted, reference, "request %s was accepted without an answer", job.requestID)
		require.Len(t, sink.arrivals(t)[reference], 1)
	}
}
