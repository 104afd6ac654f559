package sdk_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

func TestCheckOrderRequiresEveryMandatoryField(t *testing.T) {
	whole := &sdk.NewOrder{PlatformOrderId: "T-1", PlatformStoreId: "77", Items: []*pb.OrderItem{
		{RefId: "soup", Quantity: 1, Price: "2.50", Options: []*pb.OrderOption{{RefId: "large"},
			{RefId: "extra", Parent: new(int32(0))}}}}}
	require.NoError(t, sdk.CheckOrder(whole))
	require.NoError(t, sdk.CheckOrder(nil), "it may be a cancellation")
	for says, spoil := range map[string]func(*sdk.NewOrder){
		"platform_order_id: is required":                  func(o *sdk.NewOrder) { o.PlatformOrderId = "" },
		"store_ref_id: is required, or platform_store_id": func(o *sdk.NewOrder) { o.PlatformStoreId = "" },
		`order_type: "DELIVERY" must be delivery, pickup or dine_in`: func(o *sdk.NewOrder) {
			o.OrderType =
				"DELIVERY"
		},
		`delivery_type: "rider" must be self or partner`: func(o *sdk.NewOrder) { o.DeliveryType = "rider" },
		"items: at least one is required":                func(o *sdk.NewOrder) { o.Items = nil },
		"items[0].ref_id: is required":                   func(o *sdk.NewOrder) { o.Items[0].RefId = "" },
		"items[0].quantity: 0 must be from 1 to 100000":  func(o *sdk.NewOrder) { o.Items[0].Quantity = 0 },
		"items[0].options[0].quantity: -1 must be from 1 to 100000": func(o *sdk.NewOrder) {
			o.Items[0].Options[0].Quantity = -1
		},
		"items[0].options[1].parent: 1 must be the index of an earlier option": func(o *sdk.NewOrder) {
			o.Items[0].Options[1].Parent = new(int32(1))
		},
		`items[0].price: "2,50" is no decimal number`: func(o *sdk.NewOrder) {
			o.Items[0].Price =
				"2,50"
		},
		"customer.name: must not contain the NUL character": func(o *sdk.NewOrder) {
			o.Customer =
				&pb.Customer{Name: "A\x00"}
		},
	} {
		o := proto.CloneOf(whole)
		spoil(o)
		require.EqualError(t, sdk.CheckOrder(o), says)
		_, placed := sdk.Placed(o)
		_, updated := sdk.Updated(&sdk.OrderUpdate{Order: o})
		for _, err := range []error{placed, updated} {
			require.True(t, sdk.IsRefusal(err))
			require.EqualError(t, err, "order: "+says)
		}
	}
}

func TestInvalidOrderListsABoundedNumberOfErrors(t *testing.T) {
	o := &sdk.NewOrder{PlatformOrderId: "T-1", StoreRefId: "s1"}
	for range 100_000 {
		o.Items = append(o.Items, &pb.OrderItem{Quantity: 1})
	}
	_, err := sdk.Placed(o)
	require.EqualError(t, err, "order: items[0].ref_id: is required")
	err = sdk.CheckOrder(o)
	require.ErrorContains(t, err, "items[99].ref_id: is required\nand 99900 more errors")
	require.Equal(t, 100, strings.Count(err.Error(), "\n"))
}
