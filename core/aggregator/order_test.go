package aggregator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
	pb "github.com/servery-hub/servery/plugins/proto"
)

func TestTranslatedOrderDecodesLikeAChannelOrder(t *testing.T) {
	body, err := orderBody("b", &pb.NewOrder{
		PlatformOrderId: "007", StoreRefId: "12", OrderType: "delivery", DeliveryType: "self", OrderTotal: "9.50",
		DeliveryDatetime: 1795262400123, PrepareFor: 1795262300123, DisplayId: "42", Cutlery: new(false),
		Customer: &pb.Customer{Name: "12", Phone: "5550100",
			Address: &pb.Address{Pin: "94103", Latitude: "1.5"}},
		Items: []*pb.OrderItem{{RefId: "17", Quantity: 2, Price: "4.75", Title: "42", LineId: "900",
			Options: []*pb.OrderOption{{RefId: "1", Quantity: 1, Price: "0"},
				{RefId: "2", LineId: "901", Parent: new(int32(0))}}}},
		Taxes:   []*pb.OrderAmount{{Title: "T", Value: "1", Rate: "8.25"}},
		Payment: []*pb.Payment{{Option: "cash", Amount: "9.50", SrvrTrxId: "77"}},
	})
	require.NoError(t, err)
	draft, err := order.Decode(body)
	require.NoError(t, err, string(body))
	require.Equal(t, []any{
		"b", core.Identifier("007"), core.Identifier("12"), "9.5", "4.75", core.Identifier("17"), "42", "0", "8.25",
		"77", "94103", "1.5", core.PositiveInt(1795262400123), core.Integer(2),
	}, []any{
		draft.Platform, draft.PlatformOrderID, draft.StoreRefID, draft.Total.String(), draft.Items[0].Price.String(),
		draft.Items[0].RefID, draft.Items[0].Title,
		draft.Items[0].Options[0].Price.String(), draft.Taxes[0].Rate.String(), draft.Payment[0].Serial,
		draft.Customer.Address.Pin,
		draft.Customer.Address.Latitude.String(), draft.DeliverAt, *draft.Items[0].Quantity,
	})
	require.Equal(t, []any{core.PositiveInt(1795262300123), core.Identifier("42"), false, core.Identifier("900"),
		core.Identifier("901"), core.Integer(0)}, []any{draft.PrepareFor, draft.DisplayID, *draft.Cutlery,
		draft.Items[0].LineID, draft.Items[0].Options[1].LineID, *draft.Items[0].Options[1].Parent})
	require.Nil(t, draft.Charges, "what the aggregator did not send is worked out by the hub")
}
