package relay

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRateLimitsCountForTheirScope(t *testing.T) {
	long := strings.Repeat("x", 300)
	for name, row := range map[string]struct {
		scope   RateScope
		call    Call
		store   string
		subject string
	}{
		"a platform":        {RatePerPlatform, Call{Order: Order{PlatformOrderID: "A-1"}}, "s1", ""},
		"a store":           {RatePerStore, Call{}, "s1", "store:s1"},
		"no store":          {RatePerStore, Call{}, "", ""},
		"an order":          {RatePerOrder, Call{Order: Order{ID: 7, PlatformOrderID: "A-1"}}, "s1", "order:A-1"},
		"a rejected order":  {RatePerOrder, Call{Payload: []byte(`{"platform_order_id":"A-2"}`)}, "", "order:A-2"},
		"no order":          {RatePerOrder, Call{Payload: []byte(`{"store_ref_id":"s1"}`)}, "s1", ""},
		"an unreadable one": {RatePerOrder, Call{Payload: []byte(`{`)}, "s1", ""},
		"a long id": {RatePerOrder, Call{Order: Order{ID: 7, PlatformOrderID: long}}, "",
			"order:" + long[:200]},
	} {
		t.Run(name, func(t *testing.T) {
			row.call.Business, row.call.Platform = 3, "p"
			x := exchange{call: row.call, store: row.store,
				plan: Plan{Endpoint: "api", RateLimit: RateLimit{Scope: row.scope}}}
			require.Equal(t, RateKey{Business: 3, Platform: "p", Endpoint: "api", Subject: row.subject}, x.rateKey())
		})
	}
}
