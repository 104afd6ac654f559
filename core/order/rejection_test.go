package order

import (
	"errors"
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
			got, ok := NewRejection(row.err, []byte(row.body))
			require.True(t, ok)
			require.Equal(t, row.want, got)
		})
	}
}

func TestHubErrorsAreNotRejections(t *testing.T) {
	for _, err := range []error{errors.New("the database is unavailable"), core.Errorf(core.Unavailable, "busy"),
		core.Errorf(core.Throttled, "too many"), core.Errorf(core.Internal, "x"), nil} {
		_, ok := NewRejection(err, []byte(`{"platform_order_id":"W-1"}`))
		require.False(t, ok, err)
	}
}
