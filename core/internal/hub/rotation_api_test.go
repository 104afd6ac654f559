package hub

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/webhook"
)

func TestRotatedSecretsBothSignDuringTheOverlap(t *testing.T) {
	d := newMenuClient(t, func(c *Config) { unlimited(c); c.SecretOverlap = time.Hour })
	made := d.ok("POST", webhooksRoute, fmt.Sprintf(`{"event_type":"order_placed","url":%q}`, d.sink.URL))
	id, secrets := fmt.Sprint(int64(made.body["webhook_id"].(float64))), []string{made.body["secret"].(string)}
	signedBy := func() (who []bool) {
		t.Helper()
		n := len(d.sink.Arrivals())
		d.ok("POST", webhooksRoute+id+"/test/", "")
		d.awaitCallback(n + 1)
		d.awaitRecords(t)
		a := d.sink.Arrivals()[n]
		for _, secret := range secrets {
			_, err := webhook.Verify([]string{secret}, webhook.SignatureOf(a.Header), a.Body, d.clock.Now())
			who = append(who, err == nil)
		}
		return who
	}
	rotate := func() {
		t.Helper()
		r := d.ok("POST", webhooksRoute+id+"/rotate/", "")
		require.Equal(t, float64(d.clock.Now().Add(time.Hour).UnixMilli()), r.body["old_secret_until"])
		require.NotContains(t, secrets, r.body["secret"])
		secrets = append(secrets, r.body["secret"].(string))
	}
	require.Equal(t, []bool{true}, signedBy())
	rotate()
	require.Equal(t, []bool{true, true}, signedBy())
	d.clock.Advance(time.Minute)
	rotate()
	require.Equal(t, []bool{true, true, true}, signedBy(),
		"the answer may have been lost: receivers verify by the first")
	d.clock.Advance(time.Minute)
	rotate()
	require.Equal(t, []bool{true, false, true, true}, signedBy(), "the earliest and the last two")
	d.clock.Advance(58 * time.Minute)
	require.Equal(t, []bool{false, false, true, true}, signedBy(), "to the end of its overlap")
	d.clock.Advance(2 * time.Minute)
	require.Equal(t, []bool{false, false, false, true}, signedBy())

	stranger := hubtest.Business(t, d.hub.db)
	requireEnvelope(t, d.do(t,
		request{method: "POST", path: webhooksRoute + id + "/rotate/", authorization: stranger.Authorization}), 404,
		"no webhook")
	entries, err := consolelists.New(d.hub.db).Audit(context.Background(), d.tenant.ID,
		console.EntryFilter{Action: "webhook.rotate", Limit: 9})
	require.NoError(t, err)
	require.Len(t, entries, 3)
	require.Equal(t, core.Caller{Username: "pos"}.Actor(), entries[0].Actor)
	for _, secret := range secrets {
		require.NotContains(t, string(entries[0].Detail), secret)
	}
}
