package storetest

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
)

func TestRowLevelSecurityHidesOtherBusinesses(t *testing.T) {
	ctx, db := context.Background(), hubtest.Database(t, nil)
	enabled, err := db.RLSEnabled(ctx)
	require.NoError(t, err)
	require.True(t, enabled)
	one, other := hubtest.Business(t, db), hubtest.Business(t, db)
	for _, tenant := range []hubtest.Tenant{one, other} {
		hubtest.Subscribe(t, db, tenant.ID, core.StoreCreation, "https://pos.example.com/")
		publish(t, db, tenant.ID, "", `{}`)
	}
	for table, column := range map[string]string{"businesses": "id", "webhooks": "business_id", "events": "business_id",
		"api_keys": "business_id", "delivery_queue": "business_id"} {
		rows, err := db.Tenant(one.ID).QueryContext(ctx, `SELECT `+column+` FROM `+table)
		require.NoError(t, err, table)
		n := 0
		for rows.Next() {
			var business core.BusinessID
			require.NoError(t, rows.Scan(&business))
			require.Equal(t, one.ID, business, table)
			n++
		}
		require.NoError(t, rows.Err())
		require.Equal(t, 1, n, table)
	}
	for name, forgetful := range map[string]string{
		"an address in a partition": `SELECT count(*) FROM events_other`,
		"who may sign in":           `SELECT count(*) FROM users`,
		"a write":                   `DELETE FROM webhooks`,
	} {
		_, err := db.Tenant(one.ID).ExecContext(ctx, forgetful)
		require.ErrorContains(t, err, "permission denied", name)
	}
	pgtest.Exec(t, db, `SELECT count(*) FROM users`) // the role does not stay with the connection
	_, n, err := webhooksdb.New(db).List(ctx, other.ID, 10, 0)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestFailedProbeKeepsRowLevelSecurity(t *testing.T) {
	address := hubtest.DatabaseURL(t)
	db := hubtest.Open(t, address, nil)
	one := hubtest.Business(t, db).ID
	hubtest.Business(t, db)
	broken, err := postgres.Open(t.Context(), postgres.Config{URL: address})
	require.NoError(t, err)
	require.NoError(t, broken.Close())
	var n int
	tenant := broken.Tenant(one)
	tenant.DB = db.Bun()
	require.NoError(t, tenant.QueryRowContext(t.Context(), `SELECT count(*) FROM businesses`).Scan(&n))
	require.Equal(t, 1, n)
}

// tenantTables returns the tables that have a business, and whether each has a policy.
func tenantTables(t *testing.T, db *postgres.DB) map[string]bool {
	t.Helper()
	var rows []struct {
		Name string
		RLS  bool
	}
	require.NoError(t, db.Bun().NewRaw(`SELECT c.relname AS name, c.relrowsecurity
			AND EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid AND polname = 'tenant_isolation') AS rls
		FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
			AND NOT c.relispartition
		AND (c.relname = 'businesses' OR EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid
			AND a.attname = 'business_id'))`).Scan(t.Context(), &rows))
	tables := map[string]bool{}
	for _, row := range rows {
		tables[row.Name] = row.RLS
	}
	return tables
}

func TestEveryTenantTableHasRowLevelSecurity(t *testing.T) {
	tables := tenantTables(t, hubtest.Database(t, nil))
	require.Greater(t, len(tables), 20)
	for name, enabled := range tables {
		require.True(t, enabled, "%s: its migration must end with SELECT enable_rls()", name)
	}
}

// try runs a statement that the database may reject.
func try(db *postgres.DB, statement string) error {
	_, err := db.Bun().ExecContext(context.Background(), statement)
	return err
}

func TestHubWorksWithoutTheTenantRole(t *testing.T) {
	ctx, db := context.Background(), hubtest.Database(t, nil)
	pgtest.Exec(t, db, `DROP POLICY tenant_isolation ON stores`)
	tenant := hubtest.Business(t, db)
	hubtest.Subscribe(t, db, tenant.ID, core.StoreCreation, "https://pos.example.com/")
	_, n, err := webhooksdb.New(db).List(ctx, tenant.ID, 10, 0)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestOrdinaryOwnerGetsRowLevelSecurityWherePermitted(t *testing.T) {
	for attribute, expected := range map[string]bool{"CREATEROLE": true, "NOCREATEROLE": false} {
		t.Run(attribute, func(t *testing.T) {
			ctx, db := context.Background(), asOwner(t, attribute)
			_, err := schema.MigrateUp(ctx, db)
			require.NoError(t, err)
			require.NoError(t, schema.Maintain(ctx, db, 48*time.Hour))
			enabled, err := db.RLSEnabled(ctx)
			require.NoError(t, err)
			require.Equal(t, expected, enabled)
			tenant := hubtest.Business(t, db)
			hubtest.Subscribe(t, db, tenant.ID, core.StoreCreation, "https://pos.example.com/")
			_, n, err := webhooksdb.New(db).List(ctx, tenant.ID, 10, 0)
			require.NoError(t, err)
			require.Equal(t, 1, n)
			for _, statement := range []string{`UPDATE audit SET actor = 'nobody'`, `DELETE FROM audit`,
				`TRUNCATE audit`} {
				require.ErrorContains(t, try(db, statement), "permission denied", statement)
			}
		})
	}
}

// asOwner opens an empty database as its owner, a role with an attribute. It has the grants that
// PostgreSQL 16 gives the creator of servery_tenant.
func asOwner(t *testing.T, attribute string) *postgres.DB {
	t.Helper()
	address, err := url.Parse(hubtest.DatabaseURL(t))
	require.NoError(t, err)
	root := hubtest.Connect(t, hubtest.AdminURL(t, address.String()), nil)
	name := "owned_" + address.Host
	pgtest.Exec(t, root, `CREATE ROLE `+name+` LOGIN PASSWORD 'own' `+attribute)
	t.Cleanup(func() {
		pgtest.Exec(t, root, `DROP DATABASE IF EXISTS `+name+` WITH (FORCE)`)
		pgtest.Exec(t, root, `DROP ROLE `+name)
	})
	if c, err := schema.Examine(context.Background(), root); err == nil && c.Version >= 160000 &&
		attribute == "CREATEROLE" {
		pgtest.Exec(t, root, `GRANT servery_tenant TO `+name+` WITH ADMIN TRUE, SET FALSE, INHERIT FALSE`)
	}
	pgtest.Exec(t, root, `CREATE DATABASE `+name+` OWNER `+name)
	address.User, address.Host = url.UserPassword(name, "own"), name
	return hubtest.Connect(t, address.String(), nil)
}

func TestAuditTrailIsAppendOnly(t *testing.T) {
	address := hubtest.DatabaseURL(t)
	db := hubtest.Open(t, address, nil)
	superuser := hubtest.Connect(t, hubtest.AdminURL(t, address), nil) // no privilege restricts a superuser
	pgtest.Exec(t, db,
		`INSERT INTO audit (business_id, id, at, actor, action, object)
			VALUES (1, gen_random_uuid(), now(), 'cli', 'test', 'nothing')`)
	for _, statement := range []string{`UPDATE audit SET actor = 'nobody'`, `DELETE FROM audit`, `TRUNCATE audit`} {
		require.ErrorContains(t, try(db, statement), "permission denied", statement)
		require.ErrorContains(t, try(superuser, statement), "append-only", statement)
	}
	for _, statement := range []string{`UPDATE audit SET detail = '{}'`,
		`UPDATE audit SET detail = '{"erased": true, "actor": "me"}'`} {
		require.ErrorContains(t, try(db, statement), "append-only", statement)
	}
	require.ErrorContains(t, try(superuser, `UPDATE audit SET detail = '{"erased": true}', actor = 'me'`),
		"append-only")
	require.NoError(t, try(db, `UPDATE audit SET detail = '{"erased": true}'`), "personal data can be erased")
	require.Equal(t, 1, pgtest.AuditEntries(t, db, "test"))
}
