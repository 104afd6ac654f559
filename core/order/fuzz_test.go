package order

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// FuzzOrderUpdateBodies decodes the bodies of requests about an existing order.
func FuzzOrderUpdateBodies(f *testing.F) {
	for _, seed := range []string{
		`{"new_status":"Acknowledged","message":"soon","reason_code":"x","extra":{"prep_time_mins":20}}`,
		`{"new_status":null,"extra":null}`, `{"extra":{"prep_time_mins":1e3}}`, `{"reference_id":17}`,
		`{"reference_id":"A-1"}`,
		`{"order_upipr_id":17,"order_ref_id":"A-1","allow_edit":true,"items_oos":[{"upipr_id":3,"ref_id":"dal"},` +
			`{"ref_id":4},{}]}`,
		`{"order_upipr_id":"17","items_oos":[null]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if change, err := DecodeChange(body); err == nil {
			require.Contains(t, States(), change.To)
		} else {
			require.Equal(t, core.Invalid, core.CodeOf(err))
		}
		if reference, err := DecodeReference(body); err == nil {
			require.NotEmpty(t, reference)
		} else {
			require.Equal(t, core.Invalid, core.CodeOf(err))
		}
		if report, err := DecodeOutOfStockReport(body); err == nil {
			require.NotEmpty(t, report.Items)
			require.True(t, report.OrderID > 0 || report.Reference != "")
		} else {
			require.Equal(t, core.Invalid, core.CodeOf(err))
		}
	})
}

func FuzzCursor(f *testing.F) {
	f.Add("1733156700000000-17")
	f.Add("-9223372036854775808-1")
	f.Fuzz(func(t *testing.T, text string) {
		if c, ok := ParseCursor(text); ok {
			require.Equal(t, text, c.String())
			require.Positive(t, c.ID)
			year := time.UnixMicro(c.Placed).UTC().Year()
			require.True(t, year >= 1970 && year <= 9999, "the database can store the time")
		}
	})
}
