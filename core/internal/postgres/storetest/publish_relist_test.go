package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	publishing "github.com/servery-hub/servery/core/publish"
)

// A store that was delisted is listed again, and its menu is not taken yet when it is delisted.
func TestStoreDelistedDuringItsRelistingIsDelisted(t *testing.T) {
	for name, end := range map[string]publishing.State{
		"in flight": publishing.Published, "retrying": publishing.Waiting, "pending": publishing.Pending,
	} {
		t.Run(name, func(t *testing.T) {
			p := newPublishHarness(t)
			list := func(excluded string) {
				p.stores(`{"ref_id":"s1","excluded_platforms":[` + excluded + `]}`)
				p.clock.Advance(2 * time.Second)
			}
			next := func(state publishing.State) publishing.Result {
				t.Helper()
				work, _ := p.claim(me)
				require.Len(t, work, 1)
				require.Equal(t, "a", work[0].Platform)
				result := p.published(work[0])
				result.State = state
				return result
			}
			list(`"a","b"`)
			work, _ := p.claim(me)
			for _, w := range work {
				result := p.published(w)
				result.State = publishing.Unlisted
				p.finish(me, result)
			}
			list(`"b"`)
			result := next(end)
			if end != publishing.Published {
				result.RetryAt = p.clock.Now().Add(time.Hour)
				result.Sent = &publishing.SentMenu{Task: "t", CallID: core.NewID(p.clock.Now()), Since: p.clock.Now(),
					Deadline: result.RetryAt, Version: result.Version, Reference: result.Reference}
				p.finish(me, result)
			}
			list(`"a","b"`)
			if end == publishing.Published {
				p.finish(me, result)
			}
			p.finish(me, next(publishing.Unlisted))
			list(`"b","a"`)
			_, none := p.claim(me)
			require.Empty(t, none, "once is enough")
		})
	}
}
