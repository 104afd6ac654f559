package deliveries

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

func TestWhatIsSentAgainIsWhatTheFiltersSay(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for query, want := range map[string]webhook.Choice{
		"":                               {State: webhook.Failed},
		"webhook=17%20":                  {State: webhook.Failed, WebhookID: 17},
		"state=delivered&reference=+pos": {State: webhook.Delivered, Reference: "pos"},
	} {
		values, err := url.ParseQuery(query)
		require.NoError(t, err)
		choice, err := choiceOf(values.Get, at)
		want.To, want.EndedBy = at, at
		require.NoError(t, err, query)
		require.Equal(t, want, choice, query)
	}
	for _, query := range []string{"webhook=%2317", "webhook=order_placed", "webhook=0", "webhook=-3", "webhook=99999999999999999999", "state=oops", "state=held", "state=pending"} {
		values, err := url.ParseQuery(query)
		require.NoError(t, err)
		_, err = choiceOf(values.Get, at)
		require.Equal(t, core.Invalid, core.CodeOf(err), query)
	}
}
