package postgres

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"
)

func loadText(t *testing.T, text string) (Queries, error) {
	t.Helper()
	return LoadQueries(fstest.MapFS{"orders.sql": {Data: []byte(text)}})
}

func TestQueriesAreReadFromFiles(t *testing.T) {
	queries, err := loadText(t, `-- What a customer's order is: a comment may ask ?anything.

-- name: read
-- The order.
SELECT state
FROM orders
  -- in between
WHERE business_id = ?business AND id = ?order AND ?business > 0;

-- name: found
SELECT body @> ?part AND body \? 'x' FROM ?table WHERE true ?more
`)
	require.NoError(t, err)
	require.Equal(t, "SELECT state\nFROM orders\nWHERE business_id = 7 AND id = 8 AND 7 > 0;",
		queries.With("read", Args{"business": 7, "order": int64(8)}))
	require.Equal(t, `SELECT body @> '{"a":"?table''"}' AND body ? 'x' FROM "calls" WHERE true  AND n = 3`,
		queries.With("found", Args{"part": `{"a":"?table'"}`, "table": bun.Ident("calls"),
			"more": Conditions{Text: " AND n = ?", Args: []any{3}}}))
	require.Equal(t, []string{"business", "order"}, queries.Get("read").Names())
	require.Equal(t, "SELECT state\nFROM orders\nWHERE business_id = ?business AND id = ?order AND ?business > 0;",
		queries.Get("read").Text())
	require.Panics(t, func() { queries.With("write", nil) })
	require.PanicsWithValue(t, "SQL statement read lacks the argument order",
		func() { queries.With("read", Args{"business": 7, "ordre": 8}) })
	require.PanicsWithValue(t, `SQL statement read has the arguments ["business" "order"] only`,
		func() { queries.With("read", Args{"business": 7, "order": 8, "platform": "own"}) })
}

func TestFileWithoutHeadingsIsOneQuery(t *testing.T) {
	queries, err := loadText(t, "-- All orders.\nSELECT 1\n")
	require.NoError(t, err)
	require.Equal(t, "SELECT 1", queries.With("orders", nil))
}

func TestPreparedQueriesNumberTheirArguments(t *testing.T) {
	queries, err := loadText(t, `-- name: read
-- prepare: stores text[], business bigint
SELECT ?business, id FROM stores WHERE business_id = ?business AND ref_id = ANY (?stores)`)
	require.NoError(t, err)
	read := queries.Get("read")
	require.Equal(t,
		"PREPARE read (text[], bigint) AS SELECT $2, id FROM stores WHERE business_id = $2 AND ref_id = ANY ($1)",
		read.prepare())
	require.Equal(t, `EXECUTE read ('{"a","b"}', 7)`,
		read.execute(Args{"business": 7, "stores": Array([]string{"a", "b"})}))
	require.Panics(t, func() { read.execute(Args{"business": 7}) })
}

func TestQueriesIncludeEarlierOnes(t *testing.T) {
	others, err := loadText(t, `-- name: known
-- prepare: ids uuid[]
-- One of the rows.
id = ANY (?ids)`)
	require.NoError(t, err)
	queries, err := LoadQueries(fstest.MapFS{"a.sql": {Data: []byte(`-- name: open
NOT closed`)}, "b.sql": {Data: []byte(`-- name: read
-- prepare: business bigint
SELECT id
FROM stores
WHERE business_id = ?business
    AND
    -- include: open
    AND
    -- include: known`)}}, others)
	require.NoError(t, err)
	require.Equal(t, "PREPARE read (bigint, uuid[]) AS SELECT id\nFROM stores\nWHERE business_id = $1\n    AND\n"+
		"NOT closed\n    AND\nid = ANY ($2)", queries.Get("read").prepare())
	require.Nil(t, queries["known"], "a statement of another package")
}

func TestInvalidQueryFilesAreRejected(t *testing.T) {
	for text, problem := range map[string]string{
		"-- name: a\nSELECT 1\n-- name: a\nSELECT 2": "statement a is defined twice",
		"SELECT ?":        "an argument without a name",
		"SELECT 1 -- one": "a separate line",
		"-- name: a\n-- include: b\n-- name: b\nSELECT 1":       "no statement b before a",
		"-- name: a\n-- prepare: b text\nSELECT ?c":             "declares the arguments",
		"-- name: a\n-- prepare: b text, c text\nSELECT ?b":     "declares the arguments",
		"-- name: a\n-- prepare: b text, b text\nSELECT ?b, ?b": "declares the arguments",
	} {
		_, err := loadText(t, text)
		require.ErrorContains(t, err, problem, text)
	}
}

func TestCollectedValuesKeepTheirQuestionMarks(t *testing.T) {
	queries, err := loadText(t, `-- name: echo
SELECT ?value::text
`)
	require.NoError(t, err)
	db := openDatabase(t, nil)
	values, err := Collect(t.Context(), db.Bun(), "reading", func(value *string) []any { return []any{value} },
		bun.SafeQuery(queries.With("echo", Args{"value": `what\? really?`})))
	require.NoError(t, err)
	require.Equal(t, []string{`what\? really?`}, values)
}
