package hub

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// awaitRequest waits for a request to a path of the aggregator with this body.
func (l *laterClient) awaitRequest(path, body string) {
	l.t.Helper()
	l.advanceUntil(path+" "+body, func() bool {
		for _, r := range l.aggregators.requests() {
			if r.path == path && r.body == body {
				return true
			}
		}
		return false
	})
}

func TestPlatformLearnsWhenAPauseEnds(t *testing.T) {
	l := newLaterClient(t)
	l.aggregators.respondWith(func(int, receivedRequest) (int, string) { return 200, `{}` })
	l.sendMenu("s1", menuOf("Soup"))
	l.settle()
	until := l.clock.Now().Add(10 * time.Minute).UnixMilli()
	l.ok("POST", locationRoute,
		fmt.Sprintf(`{"location_ref_id":"s1","platforms":["p"],"action":"disable","turn_on_at":%d}`, until))
	l.awaitRequest("POST /stores/s1", fmt.Sprintf(`{"closed_until":%d}`, until))
	l.ok("POST", itemsRoute, fmt.Sprintf(
		`{"location_ref_id":"s1","item_ref_ids":["soup"],"action":"disable","turn_on_at":%d}`, until))
	l.awaitRequest("POST /items/s1", fmt.Sprintf(`{"items":["soup"],"sold_out_until":%d}`, until))
	l.clock.Advance(10 * time.Minute)
	l.awaitRequest("POST /stores/s1", "true")
	l.awaitRequest("POST /items/s1", `["soup"]`)
}

func TestPauseWithoutEndHasNone(t *testing.T) {
	l := newLaterClient(t)
	l.aggregators.respondWith(func(int, receivedRequest) (int, string) { return 200, `{}` })
	until := l.clock.Now().Add(10 * time.Minute).UnixMilli()
	for _, end := range []string{fmt.Sprint(until), "null"} { // the second request replaces the end of the first
		l.ok("POST", locationRoute,
			fmt.Sprintf(`{"location_ref_id":"s1","platforms":["p"],"action":"disable","turn_on_at":%s}`, end))
	}
	l.awaitRequest("POST /stores/s1", "false")
	require.Equal(t, fmt.Sprintf(`{"closed_until":%d}`, until), l.aggregators.requests()[0].body)
}
