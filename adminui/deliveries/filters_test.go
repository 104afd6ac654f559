package deliveries

import (
	"cmp"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

func TestBulkResendSelectsByItsFilters(t *testing.T) {
	at, zone := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), time.FixedZone("PST", -8*3600)
	for query, want := range map[string]webhook.Selector{
		"":                               {State: webhook.Failed},
		"webhook=17%20":                  {State: webhook.Failed, WebhookID: 17},
		"state=delivered&reference=+pos": {State: webhook.Delivered, Reference: "pos"},
		"order=10001&from=2026-11-20T23:00&to=2026-11-21T03:30": {State: webhook.Failed, OrderID: 10001,
			From: time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC), To: time.Date(2026, 11, 21, 11, 30, 0, 0, time.UTC)},
		"to=2026-11-21T05:00": {State: webhook.Failed},
		"status=503":          {State: webhook.Failed, Status: 503},
		"when=1h":             {State: webhook.Failed, From: at.Add(-time.Hour)},
		"when=any":            {State: webhook.Failed},
		"when=1h&from=2026-11-20T23:00": {State: webhook.Failed,
			From: time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC)},
		"of=failed&from=2026-11-20T23:00&to=2026-11-21T03:30": {State: webhook.Failed,
			EndedFrom: time.Date(2026, 11, 21, 7, 0, 0, 0, time.UTC),
			EndedBy:   time.Date(2026, 11, 21, 11, 30, 0, 0, time.UTC).Add(-time.Microsecond)},
	} {
		values, err := url.ParseQuery(query)
		require.NoError(t, err)
		choice, err := selectorOf(values.Get, zone, at)
		want.EndedBy = cmp.Or(want.EndedBy, at)
		want.To = cmp.Or(want.To, at)
		require.NoError(t, err, query)
		require.Equal(t, want, choice, query)
	}
	for _, query := range []string{"webhook=%2317", "webhook=order_placed", "webhook=0", "webhook=-3",
		"webhook=99999999999999999999", "state=oops", "state=held", "state=pending",
		"order=W-7", "status=99", "status=ok", "of=failed&state=delivered", "when=2h", "order=-1", "from=yesterday",
		"to=12:00", "from=2026-11-21T03:00&to=2026-11-21T03:00"} {
		values, err := url.ParseQuery(query)
		require.NoError(t, err)
		_, err = selectorOf(values.Get, zone, at)
		require.Equal(t, core.Invalid, core.CodeOf(err), query)
	}
}
