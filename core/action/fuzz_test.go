package action

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"action":"rider_body_temp","order_id":17,"temp":98.6}`,
		`{"action":"rider_with_mask","order_id":"17","wearing_mask":true}`,
		`{"action":"fetch_customer_data","order_id":17,"phone":"9999999999"}`,
		`{"action":" ","order_id":-1,"temp":"hot"}`,
		`{"action":"delay_order","order_id":17,"parameters":{"b":[1,{"d":null,"c":1e5}],"a":"\u00e9"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Decode(body)
		if err != nil {
			require.Equal(t, core.Invalid, core.CodeOf(err))
			return
		}
		require.NotEmpty(t, r.Action)
		require.NotZero(t, r.OrderID)
		require.Equal(t, r.Action == BodyTemp, r.Temp != nil)
		require.Equal(t, r.Action == WithMask, r.WearingMask != nil)
		if r.Parameters == nil {
			return
		}
		require.False(t, IsSpecified(r.Action))
		require.LessOrEqual(t, len(r.Parameters), maxParameters)
		again, err := Decode(fmt.Appendf(nil, `{"action":"delay_order","order_id":1,"parameters":%s}`, r.Parameters))
		require.NoError(t, err)
		require.Equal(t, string(r.Parameters), string(again.Parameters), "the text is canonical")
	})
}
