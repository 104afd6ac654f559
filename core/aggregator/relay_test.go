package aggregator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/plugins/sdk"
)

func TestTranslatedOrderHasTheChannelOrderForm(t *testing.T) {
	body, err := orderBody("tasty",
		&sdk.NewOrder{PlatformOrderId: "T-1", StoreRefId: "s1", DeliveryDatetime: 1700000000000})
	require.NoError(t, err)
	require.JSONEq(t,
		`{"platform":"tasty","platform_order_id":"T-1","store_ref_id":"s1","delivery_datetime":1700000000000}`,
		string(body))
}
