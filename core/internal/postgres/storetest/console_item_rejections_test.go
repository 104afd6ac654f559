package storetest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/postgres/consolemenus"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
)

func TestManyRejectionsHideNoOtherPlatform(t *testing.T) {
	k := newFeast(t)
	read := consolemenus.New(k.db)
	id, err := read.ItemID(t.Context(), k.business, "curry")
	require.NoError(t, err)
	// rejects stores publications of many stores, each a second later than the previous one.
	rejects := func(platform, problems string, stores int) {
		pgtest.Exec(t, k.db, `INSERT INTO publications (business_id, store_id, platform, endpoint, reference,
			publish_requests, due_at, available_at, state, problems, settled_at)
			SELECT ?0, 1000 + n, ?1, 1, gen_random_uuid(), '{}', now(), 'infinity', 'published',
				replace(?2, 'NUMBER', (n % 25)::text), now() + n * interval '1 s' FROM generate_series(1, ?3) n`,
			k.business, platform, problems, stores)
	}
	const problem = `{"entity":"item","ref_id":"curry","code":"c","message":"photo %s"}`
	rejects("a", fmt.Sprintf("["+problem+","+problem+"]", "NUMBER", "NUMBER"), 1100)
	rejects("b", fmt.Sprintf("["+problem+`,{"entity":"option","ref_id":"curry","code":"c","message":"no"}]`, "missing"),
		2)
	var log statementLog
	log.listen(k.db)
	item, err := read.Item(t.Context(), k.business, id)
	require.NoError(t, err)
	last := len(item.Rejections) - 1
	require.Equal(t, console.ItemRejection{Platform: "b", Message: "photo missing", Stores: 2}, item.Rejections[last])
	require.Equal(t, 20, last, "of platform a, the latest messages")
	for i, rejection := range item.Rejections[:last] {
		require.Equal(t, console.ItemRejection{Platform: "a", Message: fmt.Sprintf("photo %d", (25-i)%25), Stores: 44},
			rejection)
	}
	expanded := 0
	for _, one := range log.statements {
		expanded += rowsOn(t, k.db, "on jsonb_array_elements", one.text)
	}
	require.Equal(t, 25*2+2, expanded, "equal problems of many stores are read once")
}
