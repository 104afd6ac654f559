package cause

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/store"
)

func TestPlatformWithoutTheLastSwitchIsExplained(t *testing.T) {
	call := func(change string, state relay.State, message string) console.Call {
		return console.Call{ID: core.NewID(since), Kind: string(relay.StoreAction), Platform: "tasty", CreatedAt: since,
			Payload: []byte(change), State: string(state), Message: message}
	}
	const opens, closes, busy = `{"enable":true}`, `{"enable":false}`, `{"enable":true,"workload":{"busy":true}}`
	const rejected = "the aggregator responded with 401 Unauthorized"
	closed := openStore(func(s *store.Stored) { s.ClosedOn = []store.PlatformClosure{{Platform: "tasty"}} })
	reported := func(state store.PlatformState, at time.Time) store.Stored {
		return openStore(func(s *store.Stored) {
			s.PlatformStatus = []store.PlatformStatus{{Platform: "tasty", State: state, Since: at.UnixMilli()}}
		})
	}
	failed, before := call(opens, relay.Failed, rejected), since.Add(-time.Hour)
	const notOpened = "Opening the store on tasty failed, so that the platform may still show it as closed: "
	for name, row := range map[string]struct {
		store store.Stored
		calls []console.Call
		state ui.State
		says  string
	}{
		"opening failed": {openStore(nil), []console.Call{failed}, ui.Err, notOpened},
		"busy since then": {openStore(nil), []console.Call{failed, call(busy, relay.Done, ""),
			{Platform: "web", Kind: string(relay.StoreAction)}}, ui.Err, notOpened},
		"report is older": {reported(store.OpenThere, before), []console.Call{failed}, ui.Err, notOpened},
		"reported open":   {reported(store.OpenThere, since), []console.Call{failed}, "", ""},
		"opened later":    {openStore(nil), []console.Call{failed, call(opens, relay.Done, "")}, "", ""},
		"not listed": {openStore(func(s *store.Stored) { s.IncludedPlatforms = []string{"web"} }),
			[]console.Call{failed}, "", ""},
		"newer change is stored": {closed, []console.Call{failed}, "", ""},
		"opening is sent": {openStore(nil), []console.Call{call(opens, relay.Pending, "")}, ui.Wait,
			"is not finished"},
		"opening is retried": {openStore(nil), []console.Call{call(opens, relay.Waiting, "status 503")}, ui.Warn,
			"closed. Failed, and will be retried: status 503"},
		"closing failed": {closed, []console.Call{call(closes, relay.Failed, rejected)}, ui.Err,
			"Closing the store on tasty failed, so that the platform may still show it as open: "},
	} {
		found := StoreSwitch(row.store, "tasty", row.calls, time.UTC)
		require.Equal(t, row.says == "", found == nil, name)
		if found != nil {
			require.Equal(t, row.state, found.Cause.State, name)
			require.Contains(t, found.Cause.Text, row.says, name)
			require.Equal(t, row.calls[0].ID, found.Call, name)
		}
	}
	require.Equal(t, "Ask the support of tasty for the right login of the hub there. Then enter it in the platform "+
		"settings of this console. Then open the store again in the POS.",
		StoreSwitch(openStore(nil), "tasty", []console.Call{failed}, time.UTC).Cause.Detail)
}
