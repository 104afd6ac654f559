package pluginhost

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

func TestResentRequestKeepsItsIdentity(t *testing.T) {
	k := &supervisor{id: "tasty", lastReady: &instance{description: &sdk.Description{
		Inbound: []*pb.Inbound{{Kind: "orders", TimestampQuery: "ts"}}}}}
	p := (&Host{supervisors: map[string]*supervisor{"tasty": k}}).Plugin("tasty")
	installed := installedPlugin{manifest: &sdk.Manifest{}}
	identify := func(kind, store, ts, body string) Request {
		r := &sdk.InboundRequest{Kind: kind, Body: []byte(body), Query: map[string]string{"store": store, "ts": ts}}
		id := newRequest("Orders.Translate", testSubject(), p.inboundContent(r)).identify(installed)
		require.Len(t, r.GetQuery(), 2, "the plugin receives the whole query")
		return id
	}
	first := identify("orders", "1", "1700000000", "{}")
	require.Equal(t, first, identify("orders", "1", "1700000009", "{}"))
	require.NotEqual(t, first, identify("orders", "2", "1700000000", "{}"))
	require.NotEqual(t, first, identify("orders", "1", "1700000000", "[]"))
	require.NotEqual(t, identify("other", "1", "1", ""), identify("other", "1", "2", ""), "it declares no timestamp")
}

func TestCrashesOfOnePollCountOnce(t *testing.T) {
	k := &supervisor{setAside: map[Request]bool{}}
	installed := installedPlugin{manifest: &sdk.Manifest{}}
	crash := func(cursor, response string) lostCall {
		r := &sdk.PollRequest{Poll: "orders", Cursor: cursor, PolledAt: int64(len(response)),
			Pending: []*pb.PendingTask{{Reference: response}}}
		lost := interpretPoll(testSubject(), r, &sdk.Response{Body: []byte(response)}).lostCall(installed)
		k.recordCrash(time.Unix(1, 0), &fault{lost: []lostCall{lost}})
		return lost
	}
	first, second := crash("7", `{"next": 1}`), crash("7", `{"next": 22}`)
	require.NotEqual(t, first.request, second.request, "another response is not set aside with the first")
	require.Len(t, k.recentCrashes, 1)
	crash("8", `{"next": 22}`)
	require.Len(t, k.recentCrashes, 2)
}
