package devpg

import (
	"bufio"
	"context"
	"database/sql"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun/driver/pgdriver"
)

const (
	childEnv   = "DEVPG_TEST_CHILD_DIR"
	childQuery = "DEVPG_TEST_CHILD_QUERY"
)

// TestMain is also the second process of TestJoinsServerOfKilledProcess: it starts the server and waits to be killed.
func TestMain(m *testing.M) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		status := m.Run()
		_ = os.RemoveAll(prepared.dir)
		os.Exit(status)
	}
	if text := os.Getenv(childQuery); text != "" {
		if err := answerOnce(dir, text); err != nil {
			_, _ = os.Stdout.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	if _, err := Start(context.Background(), fastConfig(dir)); err != nil {
		_, _ = os.Stdout.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString("ready\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// fastConfig is a configuration without durability.
func fastConfig(dir string) Config {
	return Config{
		DataDir:  dir,
		Testing:  true,
		Settings: map[string]string{"fsync": "off", "shared_buffers": "16MB"},
		Log:      slog.New(slog.DiscardHandler),
	}
}

// dataDir creates a directory that the server's user can reach, which t.TempDir is not. At the end of the test it
// checks that no server uses it.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "devpg-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	dir, err = filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, pid := range serversBelow(dir) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Errorf("PostgreSQL (pid %d) was left running", pid)
		}
		if place, err := locate(dir, "/var/lib"); err == nil {
			_ = clearSocket(place.socketDir())
			_ = os.Remove(place.socketDir())
		}
		assert.NoError(t, os.RemoveAll(dir))
	})
	return dir
}

// prepared is a directory with a new cluster, once a test needed it.
var prepared struct {
	sync.Once
	dir string
	err error
}

// preparedDir is dataDir with a cluster. A copy takes a tenth of the processor time of initdb.
func preparedDir(t *testing.T) string {
	t.Helper()
	prepared.Do(func() {
		if prepared.dir, prepared.err = os.MkdirTemp("", "devpg-prepared-"); prepared.err != nil {
			return
		}
		var s *Server
		if prepared.err = os.Chmod(prepared.dir, 0o755); prepared.err == nil {
			s, prepared.err = Start(context.Background(), fastConfig(prepared.dir))
		}
		if prepared.err == nil {
			prepared.err = s.Close(context.Background())
		}
	})
	require.NoError(t, prepared.err)
	dir := dataDir(t)
	text, err := exec.Command("cp", "-a", filepath.Join(prepared.dir, "postgres"), dir).CombinedOutput()
	require.NoError(t, err, "%s", text)
	return dir
}

// serversBelow returns the pids of servers with clusters below dir, with or without a pid file.
func serversBelow(dir string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		raw, _ := os.ReadFile(file)
		args := strings.Split(string(raw), "\x00")
		if len(args) > 2 && args[1] == "-D" && strings.HasPrefix(args[2], dir+"/") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	s, err := Start(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close(context.Background())) })
	return s
}

func query(t *testing.T, s *Server, text string) string {
	t.Helper()
	return queryAs(t, s.DSN(), text)
}

func queryAs(t *testing.T, dsn, text string) string {
	t.Helper()
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn)))
	defer db.Close()
	var out string
	require.NoError(t, db.QueryRowContext(t.Context(), text).Scan(&out))
	return out
}

func pidOf(s *Server) int { return readPidfile(s.layout.cluster()).pid }

func kill(t *testing.T, s *Server) {
	t.Helper()
	pid := pidOf(s)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.True(t, awaitExit(ctx, pid, s.layout.cluster()))
}

func TestStartServesAndCloseStops(t *testing.T) {
	t.Parallel()
	s := start(t, fastConfig(filepath.Join(dataDir(t), "deep", ".servery")))
	pid := pidOf(s)

	assert.Equal(t, "1", query(t, s, "SELECT 1::text"))
	assert.Equal(t, s.User()+"/"+s.User(), query(t, s, "SELECT current_user || '/' || current_database()"))
	assert.Equal(t, "off", query(t, s, "SHOW is_superuser"))
	assert.Equal(t, "off", query(t, s, "SHOW fsync"))
	assert.Equal(t, "UTF8", query(t, s, "SHOW server_encoding"))
	assert.Equal(t, "on", query(t, s, "SHOW data_checksums"))
	assert.Equal(t, "", query(t, s, "SHOW listen_addresses"))
	assert.Equal(t, "200", query(t, s, "SHOW max_connections"))
	assert.Equal(t, "", queryAs(t, s.AdminDSN(),
		"SELECT coalesce(string_agg(error, ','), '') FROM pg_file_settings WHERE error IS NOT NULL"))
	info, err := os.Lstat(filepath.Dir(s.Socket()))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	session, err := syscall.Getpgid(pid)
	require.NoError(t, err)
	assert.Equal(t, pid, session, "a Ctrl-C for our process group must not reach it")

	require.NoError(t, s.Close(t.Context()))
	assert.False(t, processExists(pid), "stopped and reaped")
	assert.NoDirExists(t, filepath.Dir(s.Socket()))
	require.NoError(t, s.Close(t.Context()), "closing twice")
}

func TestDataSurvivesRestart(t *testing.T) {
	t.Parallel()
	dir := preparedDir(t)
	s := start(t, fastConfig(dir))
	query(t, s, "SELECT lo_from_bytea(4711, 'kept')::text")
	require.NoError(t, s.Close(t.Context()))

	s = start(t, fastConfig(dir))
	assert.Equal(t, "kept", query(t, s, "SELECT convert_from(lo_get(4711), 'UTF8')"))
}

func TestSecondStartJoinsAndLastCloseStops(t *testing.T) {
	t.Parallel()
	dir := preparedDir(t)
	first := start(t, fastConfig(dir))
	pid := pidOf(first)
	cfg := fastConfig(dir)
	cfg.machine = &machine{} // joining needs no binaries
	second := start(t, cfg)
	assert.Equal(t, pid, pidOf(second))
	assert.Equal(t, first.DSN(), second.DSN())

	require.NoError(t, first.Close(t.Context()))
	assert.True(t, isServer(pid, second.layout.cluster()))
	assert.Equal(t, "1", query(t, second, "SELECT 1::text"))
	require.NoError(t, second.Close(t.Context()))
	assert.False(t, isServer(pid, second.layout.cluster()))
}

func TestConcurrentStartsShareOneServer(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	servers := make(chan *Server, 4)
	for range cap(servers) {
		go func() {
			s, err := Start(context.Background(), fastConfig(dir))
			assert.NoError(t, err)
			servers <- s
		}()
	}
	pids := map[int]bool{}
	var all []*Server
	for range cap(servers) {
		s := <-servers
		require.NotNil(t, s)
		pids[pidOf(s)] = true
		all = append(all, s)
	}
	assert.Len(t, pids, 1)
	done := make(chan error, len(all))
	for _, s := range all {
		go func() { done <- s.Close(context.Background()) }()
	}
	for range all {
		assert.NoError(t, <-done)
	}
	for pid := range pids {
		assert.False(t, isServer(pid, all[0].layout.cluster()))
	}
}

func TestJoinsServerOfKilledProcess(t *testing.T) {
	t.Parallel()
	dir := preparedDir(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	cluster := filepath.Join(dir, "postgres")
	pid := readPidfile(cluster).pid
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.True(t, isServer(pid, cluster), "the server outlives the process that started it")

	s := start(t, fastConfig(dir))
	assert.Equal(t, pid, pidOf(s))
	assert.Equal(t, "1", query(t, s, "SELECT 1::text"))
	require.NoError(t, s.Close(t.Context()))
	assert.False(t, isServer(pid, cluster))
}
