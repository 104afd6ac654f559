package toggle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func FuzzDecode(f *testing.F) {
	now := time.Unix(1_800_000_000, 0)
	for _, seed := range []string{
		`{"location_ref_id":"S-1","action":"disable","platforms":["web"],"turn_on_at":1800001000000}`,
		`{"location_ref_id":"S-1","action":"enable","item_ref_ids":["dal"],"option_ref_ids":["hot"]}`,
		`{"location_ref_id":7,"action":"publish","platforms":null}`, `{"turn_on_at":"9e99"}`, `{"platforms":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if r, err := DecodeStore(body, now); err == nil {
			require.NotEmpty(t, r.LocationRefID)
			require.True(t, r.TurnOnAt.IsZero() || r.Action == Disable && r.TurnOnAt.After(now))
		} else {
			require.Equal(t, core.Invalid, core.CodeOf(err))
		}
		if r, err := DecodeItems(body, now); err == nil {
			require.NotEmpty(t, r.LocationRefID)
			require.Positive(t, len(r.Items)+len(r.Options))
			require.NotEqual(t, Publish, r.Action)
		} else {
			require.Equal(t, core.Invalid, core.CodeOf(err))
		}
	})
}
