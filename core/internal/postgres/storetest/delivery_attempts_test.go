package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/webhook"
)

func TestOnlyNewestAttemptsAreRead(t *testing.T) {
	db := hubtest.Database(t, nil)
	tenant := hubtest.Business(t, db)
	hubtest.Subscribe(t, db, tenant.ID, core.StoreCreation, "https://pos.example.com/")
	publish(t, db, tenant.ID, "", `{}`)
	var id core.ID
	pgtest.Row(t, db, &id, `SELECT id FROM delivery_queue WHERE business_id = ?`, tenant.ID)
	const made = webhook.MaxAttemptsRead + 50
	pgtest.Exec(t, db, `INSERT INTO attempts (business_id, delivery_id, n, started_at, url, request_headers, status,
			error_class, error, response_headers, response_body, dns_us, connect_us, tls_us, first_byte_us, total_us)
		SELECT ?, ?, n, now(), 'http://pos.example', '{}', 503, 'status', '', '{}', '', 0, 0, 0, 0, 0
		FROM generate_series(1, ?) n`, tenant.ID, id, made)
	_, attempts, err := deliveries.New(db).Get(t.Context(), tenant.ID, id)
	require.NoError(t, err)
	require.Len(t, attempts, webhook.MaxAttemptsRead)
	for i, a := range attempts {
		require.Equal(t, made-webhook.MaxAttemptsRead+1+i, a.N)
	}
}
