package webhook

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestGoneResponseEndsDeliveries(t *testing.T) {
	now := time.Now()
	gone := Attempt{Status: 410, ErrorClass: Gone}
	for name, c := range map[string]struct {
		d       Delivery
		state   State
		disable bool
	}{
		"a webhook is switched off, and what was on its way waits": {Delivery{WebhookID: 1}, Pending, true},
		"also where that was the last attempt": {Delivery{WebhookID: 1, Attempts: Minutes.Schedule().Attempts - 1},
			Failed, true},
		"a callback_url has nothing to switch off, and is given up": {Delivery{}, Failed, false},
	} {
		r := resultOf(c.d, gone, now)
		require.Equal(t, []any{c.state, c.disable}, []any{r.State, r.Disable}, name)
	}
}
