package order

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestRejectedOrderKeepsItsIdentifiers(t *testing.T) {
	invalid, unknown := core.Errorf(core.Invalid, "broken"), core.Errorf(core.NotFound, "there is no store")
	for _, row := range []struct {
		name, body string
		err        error
		want       Rejection
	}{
		{"a whole order",
			`{"platform":"web","platform_order_id":"W-1","store_ref_id":"S-9","items":[{"platform_order_id":"no"}]}`,
			unknown, Rejection{Platform: "web", PlatformOrderID: "W-1", Store: "S-9"}},
		{"a numeric id and a platform_store_id", `{"platform_order_id":77,"platform_store_id":"R-1"}`,
			unknown, Rejection{PlatformOrderID: "77", Store: "R-1"}},
		{"the ref_id has priority", `{"platform_store_id":"R-1","store_ref_id":"S-1"}`, unknown,
			Rejection{Store: "S-1"}},
		{"broken after its id", `{"platform":"web","platform_order_id":"W-1","items":[{]}`, invalid,
			Rejection{Platform: "web", PlatformOrderID: "W-1"}},
		{"broken before its id", `{"items":[{],"platform_order_id":"W-1"}`, invalid, Rejection{}},
		{"values of other types", `{"platform":{"a":1},"platform_order_id":1.5,"store_ref_id":null}`, invalid,
			Rejection{}},
		{"characters that cannot be stored", "{\"platform_order_id\":\"a\\u0000b\xff\"}", invalid,
			Rejection{PlatformOrderID: "a\uFFFDb\uFFFD"}},
		{"an id too long", `{"platform_order_id":"` + strings.Repeat("é", 300) + `"}`, invalid,
			Rejection{PlatformOrderID: strings.Repeat("é", 255)}},
		{"no object", `["platform_order_id","W-1"]`, invalid, Rejection{}},
		{"nothing", ``, invalid, Rejection{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var known *core.Error
			require.True(t, errors.As(row.err, &known))
			row.want.Reason = known.Message
			require.Equal(t, row.want, NewRejection(row.err, []byte(row.body)))
		})
	}
}

func TestHubFaultsAreRecordedWithoutInternalDetails(t *testing.T) {
	const failed = "the hub failed to process the order"
	for _, row := range []struct {
		err    error
		reason string
	}{
		{errors.New("secret of the database"), failed},
		{core.Errorf(core.Internal, "x.go:7"), failed},
		{io.EOF, "the hub could not use its database"},
		{core.Errorf(core.Unavailable, "plugin a is unavailable"), "plugin a is unavailable"},
		{core.Errorf(core.Throttled, "too many"), "too many"},
	} {
		require.Equal(t, Rejection{PlatformOrderID: "W-1", Reason: row.reason, HubFault: true},
			NewRejection(row.err, []byte(`{"platform_order_id":"W-1"}`)), row.err)
	}
}

func TestOrderIDIsFoundInForeignBodies(t *testing.T) {
	for body, want := range map[string]string{
		`{"event":"order.created","order":{"id":"A-7","lines":[]}}`: "A-7",
		`{"order":{"id":78}}`:       "78",
		`{"order":{"id":{"no":1}}}`: "",
		`{"order":"A-7"}`:           "",
		`{"order":{"id":"A-7"`:      "",
		`{"order":{"id":"` + strings.Repeat("é", 300) + `"}}`: strings.Repeat("é", 255),
		``: "",
	} {
		require.Equal(t, want, OrderIDAt("/order/id", "", []byte(body)), body)
	}
	require.Empty(t, OrderIDAt("", "", []byte(`"A-7"`)))
}
