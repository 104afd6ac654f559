package checklist_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/checklist"
)

func step(t *testing.T, f checklist.Facts, name string) checklist.Step {
	t.Helper()
	for _, s := range checklist.Steps(f, "https://hub.example.com") {
		if s.Name == name {
			return s
		}
	}
	require.FailNow(t, "there is no such step", name)
	return checklist.Step{}
}

func TestEachFactCompletesOnlyItsStep(t *testing.T) {
	for name, facts := range map[string]checklist.Facts{
		"authenticated_call": {Called: true}, "stores_synced": {Stores: true}, "menu_synced": {Menu: true},
		"webhook_configured": {Subscribed: true},
		"webhook_verified":   {Verified: true}, "order_accepted": {OrderAccepted: true},
		"orders_retried": {OrdersRetried: true},
		"rider_sent":     {Rider: true}, "action_used": {Action: true},
		"objects_accepted": {Requests: true},
	} {
		steps := checklist.Steps(facts, "")
		require.Len(t, steps, 10)
		require.Equal(t, 1, checklist.Done(steps), name)
		require.True(t, step(t, facts, name).Done, name)
	}
	require.Zero(t, checklist.Done(checklist.Steps(checklist.Facts{}, "")))
}

func TestMenuStepWithErrorsLinksToItsJob(t *testing.T) {
	reference := core.NewID(time.Now())
	menu := step(t, checklist.Facts{Menu: true, MenuErrors: reference}, "menu_synced")
	require.False(t, menu.Done)
	require.Equal(t, reference, menu.Reference)
	require.Contains(t, menu.Command, "https://hub.example.com/external/api/v1/jobs/"+reference.String()+"/")
}

func TestObjectsStepCountsDaysWithFailures(t *testing.T) {
	reference := core.NewID(time.Now())
	once := step(t, checklist.Facts{Requests: true, FailingDays: 1, FailingJob: reference}, "objects_accepted")
	require.True(t, once.Done, "one day is not persistent")
	often := step(t, checklist.Facts{Requests: true, FailingDays: 4, FailingJob: reference}, "objects_accepted")
	require.False(t, often.Done)
	require.Equal(t, reference, often.Reference)
	require.Contains(t, often.Next, "On 4 of the last 7 days")
	require.Contains(t, often.Command, "https://hub.example.com/external/api/v1/jobs/"+reference.String()+"/")
}

func TestChecklistCommandsUseAndQuoteStoredNames(t *testing.T) {
	facts := checklist.Facts{Store: `O'Neil "1"/2`, Item: "it's", SelfOrder: 10001, Order: 10002,
		Platform: "tasty eats"}
	require.Contains(t, step(t, facts, "menu_synced").Command, "/locations/O%27Neil%20%221%22%2F2/")
	require.Contains(t, step(t, facts, "order_accepted").Command,
		`"store_ref_id":"O'\''Neil \"1\"/2","items":[{"ref_id":"it'\''s"`)
	require.Contains(t, step(t, facts, "rider_sent").Command, `"order_id":10001,`)
	require.Contains(t, step(t, facts, "action_used").Command, "/aggregator/tasty%20eats/feature-action/")
	require.Contains(t, step(t, facts, "action_used").Command, `"order_id":"10002"`)
	for _, s := range checklist.Steps(checklist.Facts{}, "https://hub.example.com") {
		require.True(t, strings.HasPrefix(s.Command, "curl -sS 'https://hub.example.com/"), s.Name)
		require.NotEmpty(t, s.Next, s.Name)
	}
}
