package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
)

// connectionFixes maps errors of connecting to their remedies.
var connectionFixes = []struct {
	applies func(error) bool
	do      string
}{
	{hasCode("3D000"), "create the database (CREATE DATABASE … OWNER …), or correct its name in SERVERY_DATABASE_URL"},
	{hasCode("28000"), "create the role, allow this machine in pg_hba.conf, or correct the user in " +
		"SERVERY_DATABASE_URL"},
	{hasCode("28P01"), "correct the user or the password in SERVERY_DATABASE_URL, with special characters " +
		"percent-encoded"},
	{hasCode("53300"), "raise max_connections of the server, or close other connections"},
	{hasCode("57P03"), "wait until the server has started: its log shows the progress"},
	{is(postgres.ErrStandby), "point SERVERY_DATABASE_URL at the primary, or wait for the failover"},
	{is(postgres.ErrReadOnly), "fix its cause, such as a full disk, then set default_transaction_read_only = off " +
		"for server, database and role"},
	{is(postgres.ErrEncoding), "create the database with ENCODING 'UTF8' TEMPLATE template0, and without " +
		"client_encoding"},
	{is(postgres.ErrNoTLS), "set ssl = on at the server, or sslmode=disable in SERVERY_DATABASE_URL on a trusted " +
		"network"},
	{as[*tls.CertificateVerificationError], "set sslrootcert in SERVERY_DATABASE_URL to the CA of the server's " +
		"certificate, for the same host name"},
	{as[*net.DNSError], "correct the host in SERVERY_DATABASE_URL, or the DNS of this machine"},
	{is(syscall.ECONNREFUSED), "start PostgreSQL, or correct host and port in SERVERY_DATABASE_URL"},
	{isNoSocket, "start PostgreSQL, or correct the socket directory in SERVERY_DATABASE_URL"},
}

func hasCode(sqlstate string) func(error) bool {
	return func(err error) bool { return postgres.IsCode(err, sqlstate) }
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

// isNoSocket reports whether the directory of the database URL has no socket.
func isNoSocket(err error) bool { return as[*net.OpError](err) && errors.Is(err, syscall.ENOENT) }

// ConnectionRemedy returns what to do about an error of connecting.
func ConnectionRemedy(err error) string {
	if remedy := core.RemedyOf(err); remedy != "" {
		return remedy
	}
	for _, fix := range connectionFixes {
		if fix.applies(err) {
			return fix.do
		}
	}
	return "check SERVERY_DATABASE_URL, and that no firewall blocks the server"
}

// Thresholds of the doctor's warnings.
const (
	minVersion       = 140000
	minSpareConns    = 10 // of the database, in addition to those of one hub
	maxClockSkew     = time.Second
	minPartitionDays = 2 // days
)

// Database checks the server and the schema. It returns false if no further check is possible.
func (d *Doctor) Database(ctx context.Context, db *postgres.DB) bool {
	condition, err := schema.Examine(ctx, db)
	if err != nil {
		d.Add("database", Fail, err.Error(), "see the log of PostgreSQL")
		return false
	}
	d.Add("database", OK, fmt.Sprintf("PostgreSQL %d.%d, %d MiB", condition.Version/10000, condition.Version%10000,
		condition.Size>>20), "")
	for _, row := range []struct {
		wrong     bool
		how       Outcome
		found, do string
	}{
		{condition.Version < minVersion, Fail, "it is older than PostgreSQL 14", "upgrade PostgreSQL"},
		{!condition.TemporaryTables, Fail,
			"the hub's role may not create temporary tables, so store and menu requests fail",
			"GRANT TEMPORARY ON DATABASE … TO the role of the hub"},
		{condition.Superuser, Warn, "the hub's role is a superuser",
			"ALTER ROLE … NOSUPERUSER; the role must own the database"},
		{!condition.Fsync, Fail, "fsync is off: a crash of the machine may destroy the database", "set fsync = on"},
		{!condition.FullPageWrites, Fail, "full_page_writes is off: a crash of the machine may destroy the database",
			"set full_page_writes = on"},
		{condition.SynchronousCommit == "off", Fail,
			"synchronous_commit is off: accepted requests may be lost in a crash",
			"set synchronous_commit = on, also of the role and the database"},
		{condition.FreeConnections < minSpareConns, Warn, fmt.Sprintf("only %d of max_connections are free",
			condition.FreeConnections),
			fmt.Sprintf("raise max_connections: a hub uses up to %d", condition.PoolSize+3)},
		{condition.TimeZone != "UTC", Fail,
			"sessions have the time zone " + condition.TimeZone + " instead of UTC",
			"connect without a pooler, or with one that forwards session settings"},
		{condition.ArchiveFailed, Warn,
			"the server cannot archive its WAL, so its disk fills and backups fail",
			"see archive_command in the log of PostgreSQL: often the disk of the archive is full"},
		{condition.ArchiveLate, Warn,
			"archive_timeout is 0: orders are archived only when 16 MB of WAL are full, which may take hours",
			"set archive_timeout = 60"},
		{!condition.Checksums, Warn, "the data has no checksums, so damage by the disk is not detected",
			"create the cluster with initdb --data-checksums, or run pg_checksums --enable"},
	} {
		if row.wrong {
			d.Add("database", row.how, row.found, row.do)
		}
	}
	if skew := db.ClockOffset(); skew.Abs() > maxClockSkew {
		d.Add("clock", Warn, fmt.Sprintf(
			"this machine and the database are %v apart, and hubs use the clock of the database",
			skew.Round(time.Millisecond)), "synchronise both clocks with NTP")
	} else {
		d.Add("clock", OK, fmt.Sprintf("%v from the clock of the database", skew.Round(time.Millisecond)), "")
	}
	return d.schema(ctx, db, condition)
}

func (d *Doctor) schema(ctx context.Context, db *postgres.DB, condition schema.DatabaseState) bool {
	switch {
	case condition.EarlierBuild:
		d.Add("migrations", Fail, schema.ErrEarlierBuild.Error(), "start with an empty database: `servery migrate up` "+
			"says how")
		return false
	case len(condition.Missing) > 0:
		d.Add("migrations", Fail,
			fmt.Sprintf("%d are missing, the first is %s", len(condition.Missing), condition.Missing[0]),
			"run `servery migrate up`, or start a hub")
		return false
	case len(condition.Unknown) > 0:
		d.Add("migrations", Warn,
			fmt.Sprintf("the database has %d migrations of a newer program",
				len(condition.Unknown)), "use this version only for a rollback")
	default:
		d.Add("migrations", OK, "all are applied", "")
	}
	ahead, stray, err := schema.PartitionsAhead(ctx, db)
	switch {
	case err != nil:
		d.Add("partitions", Fail, err.Error(), "see the log of PostgreSQL")
	case stray > 0:
		d.Add("partitions", Warn,
			fmt.Sprintf(
				"%d current rows are in the default partitions: the clock was set, or partitions are missing", stray),
			"keep a hub running and the clock of the database right: the log of the hub has the cause")
	case ahead < minPartitionDays:
		d.Add("partitions", Warn, fmt.Sprintf("partitions exist for %d days ahead", ahead),
			"start a hub, which creates them: the log of a running hub has the cause")
	default:
		d.Add("partitions", OK, fmt.Sprintf("partitions exist for %d days ahead", ahead), "")
	}
	return true
}

// RowSecurity checks row-level security.
func (d *Doctor) RowSecurity(ctx context.Context, db *postgres.DB) {
	switch enabled, err := db.RLSEnabled(ctx); {
	case err != nil:
		d.Add("row-level security", Fail, err.Error(), "see the log of PostgreSQL")
	case !enabled:
		d.Add("row-level security", Warn, rowSecurityOff, rowSecurityRemedy)
	default:
		d.Add("row-level security", OK,
			"queries of a business run as servery_tenant, which sees only its rows", "")
	}
}

// The message without row-level security, and its remedy.
const (
	rowSecurityOff = "the hub may not take the role servery_tenant: that queries name their business is all " +
		"that keeps businesses apart"
	rowSecurityRemedy = "as an administrator of PostgreSQL: CREATE ROLE servery_tenant NOLOGIN, where there is none, " +
		"and GRANT servery_tenant TO the role of the hub; as the hub: SELECT enable_rls(); then restart the hubs. " +
		"The tables must be in the schema public: one named as the hub's role is not seen by another"
)

// Secrets checks that the secrets in the database can be opened.
func (d *Doctor) Secrets(ctx context.Context, db *postgres.DB) {
	state, err := schema.SealState(ctx, db)
	if err != nil {
		d.Add("secret key", Fail, err.Error(), "set the same SERVERY_SECRET_KEY as the other hubs")
		return
	}
	sealed, err := schema.CountSealed(ctx, db)
	if err != nil {
		d.Add("secret key", Fail, err.Error(), "see the log of PostgreSQL")
		return
	}
	total, others, unreadable := 0, 0, 0
	for _, column := range sealed {
		unreadable += column.Unreadable
		for key, n := range column.Keys {
			if total += n; key != schema.SealKey(db) {
				others += n
			}
		}
		for key, n := range column.Unnamed {
			if total += n; key != schema.SealKey(db) {
				others += n
			}
		}
	}
	switch {
	case unreadable > 0:
		d.Add("secret key", Fail, fmt.Sprintf("%d stored secrets are encrypted with an unknown key", unreadable),
			"add that key to SERVERY_SECRET_KEY_PREVIOUS, then run `servery secrets rotate`")
	case others > 0 || state != "" && state != schema.SealKey(db):
		d.Add("secret key", Warn, fmt.Sprintf("%d of %d secrets are encrypted with an earlier key", others, total),
			"when every hub has both keys, run `servery secrets rotate`, then remove SERVERY_SECRET_KEY_PREVIOUS")
	default:
		d.Add("secret key", OK, fmt.Sprintf("key %s decrypts all %d secrets", schema.SealKey(db), total), "")
	}
}
