package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
)

// partCompression returns the compression of the rows of a stored part, and the number of partitions without that of
// the table.
func partCompression(t *testing.T, db *postgres.DB) (method string, others int) {
	t.Helper()
	pgtest.Exec(t, db, `INSERT INTO revision_parts (business_id, revision_id, table_name, kind, store_id, created, ids,
			rows)
		SELECT 1, gen_random_uuid(), 't', 1, 0, false, '{1}', json_build_array(repeat('{"title":"Dal"}', 5000))`)
	pgtest.Row(t, db, &method, `SELECT pg_column_compression(rows) FROM revision_parts`)
	pgtest.Row(t, db, &others, `SELECT count(*) FROM pg_inherits
		JOIN pg_attribute part ON part.attrelid = inhrelid AND part.attname IN ('rows', 'ids')
		JOIN pg_attribute whole ON whole.attrelid = inhparent AND whole.attname = part.attname
		WHERE inhparent = 'revision_parts'::regclass AND part.attcompression <> whole.attcompression`)
	return method, others
}

func TestRevisionsAreCompressedByLZ4WhereAvailable(t *testing.T) {
	db := hubtest.Database(t, nil)
	require.NoError(t, schema.Maintain(t.Context(), db, 48*time.Hour))
	want := "pglz"
	pgtest.Row(t, db, &want, `SELECT CASE WHEN 'lz4' = ANY (enumvals) THEN 'lz4' ELSE 'pglz' END FROM pg_settings
		WHERE name = 'default_toast_compression'`)
	method, others := partCompression(t, db)
	require.Equal(t, want, method)
	require.Zero(t, others, "partitions differ")
}

// TestMigrationsWorkWithoutLZ4 has the server reject the compression as one that is built without it.
func TestMigrationsWorkWithoutLZ4(t *testing.T) {
	address := hubtest.DatabaseURL(t)
	db := hubtest.Open(t, address, nil)
	_, err := schema.MigrateDown(t.Context(), db)
	require.NoError(t, err)
	admin := hubtest.Connect(t, hubtest.AdminURL(t, address), nil) // Open would need the tables
	pgtest.Exec(t, admin, `CREATE FUNCTION public.reject_lz4() RETURNS event_trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF EXISTS (SELECT FROM pg_attribute WHERE attcompression = 'l') THEN
				RAISE feature_not_supported USING MESSAGE = 'compression method lz4 not supported';
			END IF;
		END $$`)
	pgtest.Exec(t, admin, `CREATE EVENT TRIGGER reject_lz4 ON ddl_command_end WHEN TAG IN ('ALTER TABLE')
		EXECUTE FUNCTION public.reject_lz4()`)
	_, err = schema.MigrateUp(t.Context(), db)
	require.NoError(t, err)
	method, others := partCompression(t, db)
	require.Equal(t, "pglz", method)
	require.Zero(t, others)
}
