package devpg

import (
	"context"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun/driver/pgdriver"
)

func TestStartRecoversFromKilledServer(t *testing.T) {
	t.Parallel()
	dir := preparedDir(t)
	first := start(t, fastConfig(dir))
	query(t, first, "SELECT lo_from_bytea(4711, 'kept')::text")
	dead := pidOf(first)
	kill(t, first)

	second := start(t, fastConfig(dir))
	assert.NotEqual(t, dead, pidOf(second))
	assert.Equal(t, "kept", query(t, second, "SELECT convert_from(lo_get(4711), 'UTF8')"))
	// The first connection still works, because the socket path is the same.
	require.NoError(t, second.Close(t.Context()))
	assert.Equal(t, "1", query(t, first, "SELECT 1::text"))
}

// unrelatedProcess runs a process as the server's user, because PostgreSQL checks pids by sending a signal.
func unrelatedProcess(t *testing.T, owner account) int {
	t.Helper()
	cmd := exec.Command("sleep", "300")
	cmd.Dir = "/"
	cmd.SysProcAttr = owner.attributes()
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

func TestStalePidOfAnotherProcessIsIgnored(t *testing.T) {
	t.Parallel()
	s := start(t, fastConfig(preparedDir(t)))
	pidPath := filepath.Join(s.layout.cluster(), "postmaster.pid")
	lock := s.Socket() + ".lock"
	pidText, err := os.ReadFile(pidPath)
	require.NoError(t, err)
	lockText, err := os.ReadFile(lock)
	require.NoError(t, err)
	pid := strconv.Itoa(pidOf(s))
	kill(t, s)
	other := unrelatedProcess(t, s.layout.owner)
	for path, text := range map[string][]byte{pidPath: pidText, lock: lockText} {
		forged := strings.Replace(string(text), pid, strconv.Itoa(other), 1)
		require.NoError(t, os.WriteFile(path, []byte(forged), 0o600))
	}
	require.NoError(t, s.Close(t.Context()))
	require.True(t, processExists(other))

	second := start(t, fastConfig(s.layout.data))
	assert.Equal(t, "1", query(t, second, "SELECT 1::text"))
	assert.True(t, processExists(other), "the other process is left alone")
}

// A backend in the middle of a query does not notice at once that its server died. A second server on the data would
// destroy it.
func TestStartWaitsForBackendsOfKilledServer(t *testing.T) {
	t.Parallel()
	s := start(t, fastConfig(preparedDir(t)))
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(s.AdminDSN()))) // only a superuser sees files
	defer db.Close()
	ends := filepath.Join(s.layout.data, "ends")
	end := func() { assert.NoError(t, os.WriteFile(ends, nil, 0o600)) }
	t.Cleanup(end) // otherwise a failed test would leave the backend running
	busy := make(chan struct{})
	go func() {
		defer close(busy)
		_, _ = db.ExecContext(t.Context(), `DO $$ BEGIN
			WHILE (pg_stat_file('`+ends+`', true)).size IS NULL LOOP END LOOP; END $$`)
	}()
	require.Eventually(t, func() bool {
		return queryAs(t, s.AdminDSN(),
			"SELECT count(*)::text FROM pg_stat_activity WHERE query LIKE 'DO %'") == "1"
	}, time.Minute, 50*time.Millisecond)
	kill(t, s)

	var second *Server
	started := make(chan error, 1)
	go func() {
		var err error
		second, err = Start(t.Context(), fastConfig(s.layout.data))
		started <- err
	}()
	require.Eventually(t, func() bool {
		log, err := os.ReadFile(s.layout.logPath())
		return err == nil && strings.Contains(string(log), "pre-existing shared memory block")
	}, time.Minute, 50*time.Millisecond)
	require.Empty(t, started, "it waits for the backend")
	end()
	require.NoError(t, <-started)
	t.Cleanup(func() { assert.NoError(t, second.Close(context.Background())) })
	assert.Equal(t, "1", query(t, second, "SELECT 1::text"))
	<-busy
}

func TestStartSurvivesAnEmptyPidfile(t *testing.T) {
	t.Parallel()
	s := start(t, fastConfig(preparedDir(t)))
	kill(t, s)
	require.NoError(t, os.WriteFile(filepath.Join(s.layout.cluster(), "postmaster.pid"), nil, 0o600))
	second := start(t, fastConfig(s.layout.data))
	assert.Equal(t, "1", query(t, second, "SELECT 1::text"))
}

func TestIncompleteInitdbIsRepeated(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	for _, half := range []string{"postgres.init-123", "postgres"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, half, "global"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, half, "PG_VERSION"), []byte("15\n"), 0o600))
	}
	s := start(t, fastConfig(dir))
	assert.Equal(t, "1", query(t, s, "SELECT 1::text"))
	assert.NoDirExists(t, filepath.Join(dir, "postgres.init-123"))
	aside, err := filepath.Glob(filepath.Join(dir, "postgres.broken-*"))
	require.NoError(t, err)
	assert.Len(t, aside, 1, "what is no cluster is kept aside")
}

func TestServerOfDeletedDataDirIsReplaced(t *testing.T) {
	t.Parallel()
	dir := preparedDir(t)
	first := start(t, fastConfig(dir))
	orphan := pidOf(first)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		removeUsed(t, filepath.Join(dir, entry.Name()))
	}
	second := start(t, fastConfig(dir))
	assert.Equal(t, "1", query(t, second, "SELECT 1::text"))
	assert.False(t, isServer(orphan, first.layout.cluster()))

	require.NoError(t, first.Close(t.Context()))
	assert.Equal(t, "1", query(t, second, "SELECT 1::text"), "an old use must not stop the new server")
}

// removeUsed removes a directory that a running server may still write to.
func removeUsed(t *testing.T, path string) {
	t.Helper()
	require.Eventually(t, func() bool { return os.RemoveAll(path) == nil }, 10*time.Second, 10*time.Millisecond)
}

func TestCloseAfterDataDirIsDeleted(t *testing.T) {
	t.Parallel()
	dir := preparedDir(t)
	s := start(t, fastConfig(dir))
	pid := pidOf(s)
	removeUsed(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
	defer cancel()
	require.NoError(t, s.Close(ctx))
	assert.False(t, processExists(pid))
}

func TestServerWithoutItsSocketIsReplaced(t *testing.T) {
	t.Parallel()
	dir := preparedDir(t)
	s := start(t, fastConfig(dir))
	pid := pidOf(s)
	require.NoError(t, os.RemoveAll(filepath.Dir(s.Socket())))
	s.socketTimeout = 0
	state, err := s.checkState(t.Context(), &observation{child: s.child})
	require.NoError(t, err)
	require.Equal(t, stateChanging, state, "a server that this process starts may take long to create it")

	cfg := fastConfig(dir)
	cfg.machine = thisMachine()
	cfg.machine.socketTimeout = time.Second
	_, err = Start(t.Context(), cfg)
	require.ErrorContains(t, err, "lost its socket")
	assert.True(t, isServer(pid, s.layout.cluster()))

	s.users.release() // as if the process was killed
	second := start(t, cfg)
	assert.NotEqual(t, pid, pidOf(second))
	assert.Equal(t, "1", query(t, second, "SELECT 1::text"))
	s.mu.Lock()
	s.users = nil
	s.mu.Unlock()
}

func TestDeathWhileStartingShowsTheLog(t *testing.T) {
	t.Parallel()
	cfg := fastConfig(preparedDir(t))
	cfg.Settings["shared_buffers"] = "plenty"
	_, err := Start(t.Context(), cfg)
	require.ErrorContains(t, err, "died while starting")
	assert.ErrorContains(t, err, `invalid value for parameter "shared_buffers"`)

	cfg.Settings["shared_buffers"] = "16MB"
	s := start(t, cfg)
	assert.Equal(t, "1", query(t, s, "SELECT 1::text"))
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	cfg := fastConfig(dataDir(t))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := Start(ctx, cfg)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = Start(ctx, fastConfig(dataDir(t)))
	require.ErrorIs(t, err, context.DeadlineExceeded, "whatever it was doing, looking for the programs too")
	leftovers, err := filepath.Glob(filepath.Join(cfg.DataDir, "postgres*init*"))
	require.NoError(t, err)
	assert.Empty(t, leftovers)
}
