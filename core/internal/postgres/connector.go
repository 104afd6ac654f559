package postgres

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/driver/pgdriver"
)

// statementTimeout bounds a statement, on the client and on the server. Migrations have no timeout.
const statementTimeout = time.Minute

// idleTimeout is the default of Config.IdleTimeout. A process that hangs keeps its sessions, so the server ends the
// transaction. Otherwise its locks would hide rows from the other replicas after their leases ended.
const idleTimeout = 5 * time.Second

var errIncompleteURL = errors.New("SERVERY_DATABASE_URL must name user, host and database: " +
	"postgres://USER:PASSWORD@HOST:5432/DATABASE")

// lockTimeout bounds how long a migration waits for a lock, because others queue behind it.
const lockTimeout = 10 * time.Second

// hostTimeout is how long the server waits for a reply of a machine before it ends its sessions.
const hostTimeout = 6 * time.Second

// dialer notices a server that is gone after 4 s without a reply, before the server misses this machine.
var dialer = net.Dialer{Timeout: 5 * time.Second, KeepAliveConfig: net.KeepAliveConfig{Enable: true,
	Idle: 2 * time.Second, Interval: time.Second, Count: 2}}

// newConnector parses the database URL. It configures TLS itself: without sslmode a server
// on another machine must show a valid certificate. A server on this machine need not use TLS.
func newConnector(config Config) (driver.Connector, error) {
	u, err := url.Parse(config.URL)
	if err != nil {
		return nil, fmt.Errorf("SERVERY_DATABASE_URL is not a URL")
	}
	if u.Scheme != "unix" && u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, fmt.Errorf("SERVERY_DATABASE_URL must begin with postgres:// (or unix://), not %q", u.Scheme)
	}
	if u.User.Username() == "" {
		return nil, errIncompleteURL
	}
	query, err := urlParameters(u)
	if err != nil {
		return nil, err
	}
	socket := u.Scheme == "unix" || query.Has("host")
	options := append(sessionOptions(config, !socket), pgdriver.WithUser(u.User.Username()))
	if password, given := u.User.Password(); given {
		options = append(options, pgdriver.WithPassword(password))
	}
	server, err := serverOptions(u, query)
	if err != nil {
		return nil, err
	}
	return newPrimaryConnector(append(options, server...)), nil
}

// keyedParams make the planner use the index of each lookup by key, whatever the statistics say. A prepared statement
// of such a session keeps its plan as long as the connection lives. A queue that was empty at planning time may hold
// many thousands of rows later. A bitmap scan would read and sort all rows of an endpoint for its first one.
var keyedParams = map[string]any{"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off",
	"enable_bitmapscan": "off"}

func sessionOptions(config Config, remote bool) []pgdriver.Option {
	// Every statement uses an index, so random reads are priced for SSDs. JIT compilation would take longer than the
	// statement. The timeout stops statements that no caller waits for. plan_cache_mode is for prepared statements.
	limit, idle := statementTimeout, cmp.Or(config.IdleTimeout, idleTimeout)
	params := map[string]any{"timezone": "UTC", "random_page_cost": "1.1", "jit": "off",
		"plan_cache_mode": "force_generic_plan"}
	if config.keyed {
		maps.Copy(params, keyedParams)
	}
	if config.forMigrations {
		limit, idle = 0, 0 // a migration of a large table takes long
		params["lock_timeout"] = lockTimeout.Milliseconds()
	}
	params["statement_timeout"] = limit.Milliseconds()
	params["idle_in_transaction_session_timeout"] = idle.Milliseconds()
	if remote {
		// The server ends the sessions of a machine that is gone, and their locks, after 6 s without a reply.
		params["tcp_keepalives_idle"], params["tcp_keepalives_interval"] = "3", "1"
		params["tcp_user_timeout"] = hostTimeout.Milliseconds()
	}
	return []pgdriver.Option{
		pgdriver.WithTimeout(limit),
		func(conf *pgdriver.Config) { conf.Dialer = dialer.DialContext },
		pgdriver.WithApplicationName(config.Application),
		pgdriver.WithConnParams(params),
		pgdriver.WithBufferSize(64 << 10),
		pgdriver.WithTracing(false),
		pgdriver.WithResetSessionFunc(checkIdle),
	}
}

// checkIdle returns ErrBadConn if the server has closed an idle connection, or has sent the reason why it will. The
// pool then uses another connection. Over TCP, a statement would be sent without an error, and would fail.
func checkIdle(_ context.Context, conn *pgdriver.Conn) error {
	wire := conn.Conn()
	if secure, ok := wire.(*tls.Conn); ok {
		wire = secure.NetConn()
	}
	raw, err := wire.(syscall.Conn).SyscallConn()
	if err != nil {
		return driver.ErrBadConn
	}
	err = driver.ErrBadConn
	_ = raw.Control(func(fd uintptr) {
		_, _, peeked := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		if peeked == syscall.EAGAIN { // the connection is open and has nothing to read
			err = nil
		}
	})
	return err
}

// serverOptions returns the network address, the database and the TLS configuration.
func serverOptions(u *url.URL, query url.Values) ([]pgdriver.Option, error) {
	if u.Scheme == "unix" {
		return []pgdriver.Option{pgdriver.WithNetwork("unix"), pgdriver.WithAddr(u.Path),
			pgdriver.WithDatabase(u.Host), pgdriver.WithInsecure(true)}, nil
	}
	if socket := query.Get("host"); socket != "" {
		return []pgdriver.Option{pgdriver.WithNetwork("unix"),
			pgdriver.WithAddr(socket + "/.s.PGSQL." + cmp.Or(query.Get("port"), "5432")),
			pgdriver.WithDatabase(strings.TrimPrefix(u.Path, "/")), pgdriver.WithInsecure(true)}, nil
	}
	host := u.Hostname()
	if host == "" || len(u.Path) < 2 {
		return nil, errIncompleteURL
	}
	options := []pgdriver.Option{pgdriver.WithAddr(net.JoinHostPort(host, cmp.Or(u.Port(), "5432"))),
		pgdriver.WithDatabase(u.Path[1:])}
	security, err := tlsConfig(host, query)
	if err != nil {
		return nil, err
	}
	if security == nil {
		return append(options, pgdriver.WithInsecure(true)), nil
	}
	return append(options, pgdriver.WithTLSConfig(security)), nil
}

// urlParameters returns the parameters of a database URL. It rejects unknown ones.
func urlParameters(u *url.URL) (url.Values, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, errors.New("SERVERY_DATABASE_URL: the query string is malformed")
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains([]string{"sslmode", "sslrootcert", "host", "port"}, name) {
			return nil, fmt.Errorf("SERVERY_DATABASE_URL has the unknown parameter %q: known are sslmode, "+
				"sslrootcert, host and port", name)
		}
	}
	if (query.Has("host") || query.Has("port")) && (u.Scheme == "unix" || !strings.HasPrefix(query.Get("host"), "/")) {
		return nil, errors.New("SERVERY_DATABASE_URL: the parameters host and port are only for a socket directory")
	}
	return query, nil
}

// CheckURL returns an error if a database URL is malformed.
func CheckURL(address string) error {
	_, err := newConnector(Config{URL: address})
	return err
}

// tlsConfig returns the TLS configuration for a server, nil for a plain connection.
func tlsConfig(host string, query url.Values) (*tls.Config, error) {
	security := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if file := query.Get("sslrootcert"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("sslrootcert of SERVERY_DATABASE_URL: %w", err)
		}
		security.RootCAs = x509.NewCertPool()
		if !security.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("sslrootcert of SERVERY_DATABASE_URL: %s has no certificate", file)
		}
	}
	switch mode := query.Get("sslmode"); mode {
	case "disable":
		return nil, nil
	case "require":
		security.InsecureSkipVerify = security.RootCAs == nil // like libpq: encrypted, not verified
		return security, nil
	case "verify-full":
		return security, nil
	case "":
		if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
			return nil, nil
		}
		return security, nil
	default:
		return nil, fmt.Errorf("sslmode of SERVERY_DATABASE_URL must be disable, require or verify-full, not %q", mode)
	}
}

// OpenSession opens a connection outside the pool, for the session lock of a replica. The caller closes it.
func (db *DB) OpenSession(ctx context.Context) (*pgdriver.Conn, error) {
	connector, err := newConnector(db.config)
	if err != nil {
		return nil, err
	}
	opened, err := connector.Connect(ctx)
	conn, _ := opened.(*pgdriver.Conn) // nil after an error
	return conn, err
}

// OpenForMigrations opens a pool of two connections; one of them holds the migration lock.
func (db *DB) OpenForMigrations() (*bun.DB, error) {
	config := db.config
	config.forMigrations = true
	connector, err := newConnector(config)
	if err != nil {
		return nil, err
	}
	return newPool(connector, 2), nil
}
