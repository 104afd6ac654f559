package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
)

// connectionRemedies maps connection errors to their remedies. The codes are PostgreSQL's.
var connectionRemedies = []struct{ said, do string }{
	{"3D000", "make the database: CREATE DATABASE … OWNER …; or correct its name in SERVERY_DATABASE_URL"},
	{"28000",
		"make the role, or let it in from this machine (pg_hba.conf); or correct the user in SERVERY_DATABASE_URL"},
	{"28P01",
		"correct the user or the password in SERVERY_DATABASE_URL; what is no letter or digit in it must be " +
			"percent-encoded"},
	{"53300", "raise max_connections of the server, or end what holds its connections"},
	{"is a standby", "let SERVERY_DATABASE_URL name the primary, or wait until this server has become it"},
	{"default_transaction_read_only",
		"mend what it was set for, such as a full disk; then set default_transaction_read_only = off for server, " +
			"database and role"},
	{"must be in UTF8",
		"make the database by CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0, and set no client_encoding for " +
			"it or its role"},
	{"57P03", "wait until the server has started; its log says how far it is"},
	{"SSL is not enabled",
		"set ssl = on at the server, or sslmode=disable in SERVERY_DATABASE_URL where nobody can listen in on the way"},
	{"certificate",
		"let sslrootcert in SERVERY_DATABASE_URL name the file of the authority that signed the server's " +
			"certificate, for the host as it is written there"},
	{"connection refused", "start PostgreSQL, or correct host and port in SERVERY_DATABASE_URL: nothing listens there"},
	{"no such file", "start PostgreSQL, or correct the directory of its socket in SERVERY_DATABASE_URL"},
	{"lookup ", "correct the host in SERVERY_DATABASE_URL, or the name service: the name leads nowhere from here"},
	{"there is no hub", "run the doctor with the hub's own settings; where there is to be one, start it"},
	{"SERVERY_SECRET_KEY",
		"set SERVERY_SECRET_KEY as the hubs have it; for the first one `openssl rand -hex 32` makes it"},
	{"secret key", "make SERVERY_DATA_DIR a directory that the hub may write to, or set SERVERY_SECRET_KEY"},
	{"data directory", "make SERVERY_DATA_DIR a directory that the hub may write to"},
}

// ConnectionRemedy returns what to do about an error of connecting.
func ConnectionRemedy(err error) string {
	for _, one := range connectionRemedies {
		if strings.Contains(err.Error(), one.said) {
			return one.do
		}
	}
	return "make sure that SERVERY_DATABASE_URL is right, and that no firewall stands between this machine and the " +
		"server"
}

// Thresholds of the doctor's warnings.
const (
	oldestVersion   = 140000
	spareConns      = 10 // of the database, in addition to those of one hub
	clockDifference = time.Second
	partitionsAhead = 2 // days
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
		how       Verdict
		found, do string
	}{
		{condition.Version < oldestVersion, Fail, "it is older than PostgreSQL 14", "upgrade PostgreSQL"},
		{!condition.Stages, Fail,
			"the hub's role may not make temporary tables: no request for stores or menus can be carried out",
			"GRANT TEMPORARY ON DATABASE … TO the role of the hub"},
		{condition.Superuser, Warn, "the hub's role is a superuser: whoever takes over the hub takes over the server",
			"ALTER ROLE … NOSUPERUSER; the role must own the database"},
		{!condition.Fsync, Fail, "fsync is off: a crash of the machine may destroy the database", "set fsync = on"},
		{!condition.FullPageWrites, Fail, "full_page_writes is off: a crash of the machine may destroy the database",
			"set full_page_writes = on"},
		{condition.SynchronousCommit == "off", Fail,
			"synchronous_commit is off: what was accepted may be lost in a crash",
			"set synchronous_commit = on, also of the role and the database"},
		{condition.Spare < spareConns, Warn, fmt.Sprintf("only %d of max_connections are left", condition.Spare),
			fmt.Sprintf("raise max_connections: a hub uses up to %d", condition.PoolSize+1)},
		{condition.TimeZone != "UTC", Fail,
			"sessions have the time zone " + condition.TimeZone + " although they ask for UTC",
			"let hubs connect without a pooler, or with one that passes settings of the session on"},
		{condition.Unarchived, Warn,
			"the server cannot archive its WAL: its own disk fills with it, and no backup comes to an end",
			"see the log of PostgreSQL for what archive_command says, mostly that the disk of the archive is full"},
		{!condition.Checksums, Warn, "the data has no checksums: a disk that changes it is not noticed",
			"make the cluster with initdb --data-checksums, or run pg_checksums --enable"},
	} {
		if row.wrong {
			d.Add("database", row.how, row.found, row.do)
		}
	}
	if off := db.ClockDifference(); off.Abs() > clockDifference {
		d.Add("clock", Warn, fmt.Sprintf("this machine and the database are %v apart; hubs go by the database's",
			off.Round(time.Millisecond)), "keep both right by NTP")
	} else {
		d.Add("clock", OK, fmt.Sprintf("%v from the database's", off.Round(time.Millisecond)), "")
	}
	return d.schema(ctx, db, condition)
}

func (d *Doctor) schema(ctx context.Context, db *postgres.DB, condition schema.Condition) bool {
	switch {
	case condition.EarlierBuild:
		d.Add("migrations", Fail, schema.ErrEarlierBuild.Error(), "start with an empty database: `servery migrate up` "+
			"says how")
		return false
	case len(condition.Missing) > 0:
		d.Add("migrations", Fail,
			fmt.Sprintf("%d are missing, the first is %s", len(condition.Missing), condition.Missing[0]),
			"run `servery migrate up`, or start a hub, which does it")
		return false
	case len(condition.Unknown) > 0:
		d.Add("migrations", Warn,
			fmt.Sprintf("the database has %d that this program does not know: it is the older one",
				len(condition.Unknown)), "go on with this version for no longer than a rollback needs")
	default:
		d.Add("migrations", OK, "all are applied", "")
	}
	ahead, stray, err := schema.PartitionsAhead(ctx, db)
	switch {
	case err != nil:
		d.Add("partitions", Fail, err.Error(), "see the log of PostgreSQL")
	case stray > 0:
		d.Add("partitions", Warn,
			fmt.Sprintf("%d rows of today or later are in the default partitions: the clock was set, or partitions "+
				"were not made", stray),
			"nothing is lost, and they are deleted by age; keep the database's clock right, and let a hub run: its "+
				"log says what keeps it from making partitions")
	case ahead < partitionsAhead:
		d.Add("partitions", Warn, fmt.Sprintf("there are some for %d days ahead", ahead),
			"start a hub: it makes those of the coming week; if one runs, its log says what keeps it from it, such "+
				"as a transaction that has been open for long")
	default:
		d.Add("partitions", OK, fmt.Sprintf("made for %d days ahead", ahead), "")
	}
	return true
}

// RowSecurity checks row-level security.
func (d *Doctor) RowSecurity(ctx context.Context, db *postgres.DB) {
	switch there, err := db.Walled(ctx); {
	case err != nil:
		d.Add("row-level security", Fail, err.Error(), "see the log of PostgreSQL")
	case !there:
		d.Add("row-level security", Warn, rowSecurityOff, rowSecurityRemedy)
	default:
		d.Add("row-level security", OK,
			"what answers a business is read as servery_tenant, which sees that one alone", "")
	}
}

// The message without row-level security, and its remedy.
const (
	rowSecurityOff    = "the hub may not take the role servery_tenant: that queries name their business is all that keeps businesses apart"
	rowSecurityRemedy = "as an administrator of PostgreSQL: CREATE ROLE servery_tenant NOLOGIN, where there is none, and GRANT servery_tenant TO the role of the hub; as the hub: SELECT enable_rls(); then start the hubs anew. The tables must be in the schema public: one named as the hub's role is not seen by another"
)

// Secrets checks that the secrets in the database can be opened.
func (d *Doctor) Secrets(ctx context.Context, db *postgres.DB) {
	state, err := schema.SealState(ctx, db)
	if err != nil {
		d.Add("secret key", Fail, err.Error(), "give this hub the key that the others have")
		return
	}
	sealed, err := schema.Sealed(ctx, db)
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
		d.Add("secret key", Fail, fmt.Sprintf("%d stored secrets are sealed with a key that is not here", unreadable),
			"add that key to SERVERY_SECRET_KEY_PREVIOUS, then run `servery secrets rotate`")
	case others > 0 || state != "" && state != schema.SealKey(db):
		d.Add("secret key", Warn, fmt.Sprintf("%d of %d secrets are sealed with an earlier key", others, total),
			"once every hub has both keys, run `servery secrets rotate`; then take SERVERY_SECRET_KEY_PREVIOUS away")
	default:
		d.Add("secret key", OK, fmt.Sprintf("key %s opens all %d secrets", schema.SealKey(db), total), "")
	}
}
