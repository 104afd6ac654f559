package pgtest

import (
	"context"
	"testing"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
)

// SilentStores returns the ref_ids of a business's stores with a silent POS, the longest silence first.
func SilentStores(t testing.TB, db *postgres.DB, business core.BusinessID) (refs []string) {
	t.Helper()
	if err := db.Bun().NewRaw(`SELECT store.ref_id FROM pos_presence presence
		JOIN stores store ON store.business_id = presence.business_id AND store.id = presence.store_id
		WHERE presence.business_id = ? AND presence.silent_since IS NOT NULL
		ORDER BY presence.silent_since, presence.store_id`, business).Scan(context.Background(), &refs); err != nil {
		t.Fatal(err)
	}
	return refs
}
