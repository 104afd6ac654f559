package pgtest

import (
	"context"
	"strings"
	"testing"

	"github.com/servery-hub/servery/core/internal/postgres"
)

// CallRequests returns the recorded requests of the calls of an order: number, status, class and first part of the
// path.
func CallRequests(t testing.TB, db *postgres.DB, order int64) (list []string) {
	t.Helper()
	err := db.Bun().NewRaw(`SELECT concat_ws(' ', n, status, error_class, regexp_replace(url,
		'^http://[^/]*(/oauth/token|/[a-z]*).*', '\1')) FROM call_attempts WHERE order_id = ?
		ORDER BY n, started_at, ctid`,
		order).Scan(context.Background(), &list)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// CallAttemptsText returns everything that is recorded of the calls to aggregators.
func CallAttemptsText(t testing.TB, db *postgres.DB) string {
	t.Helper()
	var list []string
	if err := db.Bun().NewRaw(`SELECT concat_ws(' ', url, request_headers, encode(request_body, 'escape'), error,
		response_headers, encode(response_body, 'escape')) FROM call_attempts`).Scan(context.Background(),
		&list); err != nil {
		t.Fatal(err)
	}
	return strings.Join(list, "\n")
}
