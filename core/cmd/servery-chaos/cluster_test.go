package chaos

import (
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/servery-hub/servery/core/internal/devpg"
	"github.com/servery-hub/servery/core/internal/hubtest"
)

// cluster is a primary and its synchronous standby. Hubs reach the primary through the proxy, which follows a
// promotion.
type cluster struct {
	t           *testing.T
	dir         string
	proxy       *proxy
	primary     atomic.Pointer[node]
	standby     *node // nil if there is none
	directories int
}

// node is a PostgreSQL server.
type node struct {
	dir    string // contains the cluster, in postgres/
	server *devpg.Server
	db     *sql.DB
}

func startCluster(t *testing.T, dir string) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: dir}
	c.primary.Store(c.startNode(c.nextDir()))
	c.addStandby()
	c.proxy = newProxy(t, func() (net.Conn, error) {
		return net.DialTimeout("unix", c.primary.Load().server.Socket(), time.Second)
	})
	return c
}

// url returns the URL of the current primary.
func (c *cluster) url() string {
	server := c.primary.Load().server
	dsn, err := url.Parse(server.DSN())
	require.NoError(c.t, err)
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", dsn.User, c.proxy.address, server.User())
}

func (c *cluster) nextDir() string {
	c.t.Helper()
	c.directories++
	dir := filepath.Join(c.dir, fmt.Sprintf("pg-%d", c.directories))
	require.NoError(c.t, os.Mkdir(dir, 0o755))
	return dir
}

func (c *cluster) startNode(dir string) *node {
	c.t.Helper()
	server, err := devpg.Start(c.t.Context(),
		devpg.Config{DataDir: dir, Install: true, Testing: true, Log: hubtest.Logger(), Settings: map[string]string{
			"shared_buffers": "64MB", "wal_keep_size": "512MB",
		}})
	require.NoError(c.t, err)
	n := &node{dir: dir, server: server, db: sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(server.AdminDSN())))}
	n.db.SetMaxOpenConns(2)
	c.t.Cleanup(func() { require.NoError(c.t, n.close()) })
	return n
}

// close releases the server, which stops it if it runs.
func (n *node) close() error {
	_ = n.db.Close()
	return n.server.Close(queryContext())
}

func (n *node) query(into any, query string) error {
	return n.db.QueryRowContext(queryContext(), query).Scan(into)
}

func (c *cluster) number(query string) (n int) {
	c.t.Helper()
	eventually(c.t, waitTimeout, func() error { return c.primary.Load().query(&n, query) })
	return n
}

func (n *node) exec(t *testing.T, statement string) {
	t.Helper()
	_, err := n.db.ExecContext(t.Context(), statement)
	require.NoError(t, err, statement)
}

// addStandby creates a standby of the primary and makes replication synchronous.
func (c *cluster) addStandby() {
	c.t.Helper()
	primary, dir := c.primary.Load(), c.nextDir()
	copied := filepath.Join(dir, "postgres")
	postmaster := fmt.Sprintf("/proc/%d", hubtest.Postmaster(c.t, primary.dir))
	program, err := os.Readlink(postmaster + "/exe")
	require.NoError(c.t, err)
	copier := filepath.Join(filepath.Dir(program), "pg_basebackup")
	if _, err := os.Stat(copier); err != nil {
		if os.Getenv("CI") != "" {
			require.FailNow(c.t, "a standby cannot be made here", "%v", err)
		}
		c.t.Skipf("a standby cannot be made here: %v", err)
	}
	owner, err := os.Stat(postmaster)
	require.NoError(c.t, err)
	identity := owner.Sys().(*syscall.Stat_t)
	require.NoError(c.t, os.Mkdir(copied, 0o700))
	require.NoError(c.t, os.Chown(copied, int(identity.Uid), int(identity.Gid)))
	admin, err := url.Parse(primary.server.AdminDSN())
	require.NoError(c.t, err)
	password, _ := admin.User.Password()
	backup := exec.CommandContext(c.t.Context(), copier, "-D", copied, "-R", "-X", "stream", "-c", "fast", "--no-sync",
		"-d", fmt.Sprintf("host=%s port=5432 user=%s application_name=standby", filepath.Dir(primary.server.Socket()),
			admin.User.Username()))
	backup.Dir, backup.Env = "/", []string{"PGPASSWORD=" + password}
	if os.Geteuid() == 0 {
		backup.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: identity.Uid, Gid: identity.Gid}}
	}
	out, err := backup.CombinedOutput()
	require.NoError(c.t, err, "%s", out)
	c.standby = c.startNode(dir)
	c.awaitStandby(1, `state = 'streaming'`)
	primary.exec(c.t, `ALTER SYSTEM SET synchronous_standby_names = '*'`)
	primary.exec(c.t, `SELECT pg_reload_conf()`)
	c.awaitStandby(1, `sync_state = 'sync'`)
}

// awaitStandby waits until the primary has the wanted number of standbys that meet the condition.
func (c *cluster) awaitStandby(want int, condition string) {
	c.t.Helper()
	eventually(c.t, waitTimeout, func() error {
		var there int
		if err := c.primary.Load().query(&there,
			`SELECT count(*) FROM pg_stat_replication WHERE application_name = 'standby' AND `+condition); err != nil ||
			there == want {
			return err
		}
		return fmt.Errorf("%d standbys are there, not %d: %s", there, want, condition)
	})
}

// failOver kills the primary, waits until it is gone, and promotes the standby. It returns the time of the kill.
func (c *cluster) failOver(immediate bool) time.Time {
	c.t.Helper()
	old := c.primary.Load()
	pid := hubtest.Postmaster(c.t, old.dir)
	start := time.Now()
	if immediate {
		require.NoError(c.t, syscall.Kill(pid, syscall.SIGQUIT))
	} else {
		hubtest.KillWithChildren(c.t, pid)
	}
	for misses := 0; misses < 3; misses++ { // three failed checks in half a second
		<-time.After(150 * time.Millisecond)
		if connection, err := dialTo("unix", old.server.Socket())(); err == nil {
			_ = connection.Close()
			misses = -1
		}
	}
	c.standby.exec(c.t, `SELECT pg_promote(true, 60)`)
	c.primary.Store(c.standby)
	c.standby = nil
	c.proxy.closeSome()
	_ = old.close()
	require.NoError(c.t, os.RemoveAll(old.dir))
	return start
}

// killStandby kills the standby, and returns when the primary has noticed.
func (c *cluster) killStandby() {
	c.t.Helper()
	hubtest.KillWithChildren(c.t, hubtest.Postmaster(c.t, c.standby.dir))
	c.awaitStandby(0, `true`)
}

// returnStandby restarts the killed standby, and returns when it is in sync.
func (c *cluster) returnStandby() {
	c.t.Helper()
	_ = c.standby.close()
	c.standby = c.startNode(c.standby.dir)
	c.awaitStandby(1, `sync_state = 'sync' AND state = 'streaming'`)
}

// freezePrimary stops the processes of the primary until the channel receives.
func (c *cluster) freezePrimary(until <-chan time.Time) {
	c.t.Helper()
	pid := hubtest.Postmaster(c.t, c.primary.Load().dir)
	require.NoError(c.t, syscall.Kill(pid, syscall.SIGSTOP)) // a stopped process starts no more children
	all := append(hubtest.ChildrenOf(pid), pid)
	signalAll(all, syscall.SIGSTOP)
	<-until
	signalAll(all, syscall.SIGCONT)
}

func signalAll(pids []int, signal syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, signal)
	}
}
