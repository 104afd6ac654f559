package menu

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// oneJobStorage is the Storage of a job of the master catalogue, with a state.
type oneJobStorage struct {
	Storage
	state  State
	needs  IngestNeeds
	result IngestResult
}

func (s *oneJobStorage) ResolveLocation(context.Context, core.BusinessID, string) (core.Business, Scope, error) {
	return core.Business{Country: "IN", Currency: "INR"}, MasterScope(), nil
}

func (s *oneJobStorage) Ingest(_ context.Context, _ core.Job, needs IngestNeeds,
	decide func(State, func() int64) (IngestResult, error)) (err error) {
	s.needs = needs
	s.result, err = decide(s.state, func() int64 { return 1 })
	return err
}

func TestUnreadableMenuRequestReportsEveryObject(t *testing.T) {
	const group = `"key_value_groups":[{"group":"Gone","key_value_data":[{"key":"a","value":"1"}]}]`
	storage := &oneJobStorage{state: State{Menu: Menu{Items: []Item{{Ref: Ref{ID: 7, RefID: "tea", Active: true}}}}}}
	i := Ingestor{Storage: storage, Policy: IngestPolicy{Vocabulary: fakeVocabulary(t)},
		Clock: core.NewSystemClock(nil)}
	job := core.Job{ID: core.NewID(time.Now()), Body: []byte(`{"items":[
		{"ref_id":"tea","title":"Tea","price":1,` + group + `},{"ref_id":"pie","price":2,"available":true},
		{"ref_id":"cake","price":"later a text"},{"ref_id":"nut","price":3,"description":false}],
		"options":[{"ref_id":"tea","price":1,"nested_opt_grps":["G"]},{"title":"no identifier","available":true}],
		"taxes":[{"code":"VAT_P","title":"VAT","structure":{"value":5}}]}`)}
	err := i.Run(t.Context(), job, func(int, int) {})
	require.ErrorAs(t, err, new(core.FinalError))
	require.ErrorContains(t, err, "reading a stored request")
	require.Nil(t, storage.result.Event, "nothing was stored")

	require.NoError(t, i.Fail(t.Context(), job, err))
	require.Equal(t, []string{"tea", "pie", "cake", "nut"}, storage.needs.Read.Entities[Items].Named)
	require.False(t, storage.result.Plan.HasChanges())
	require.Empty(t, storage.result.CancelledTimers)
	require.Contains(t, storage.result.Failure, "reading a stored request")
	var body map[string]any
	require.NoError(t, json.Unmarshal(storage.result.Event.Body, &body))
	for kind, actions := range map[string]string{"items": "UAAA", "options": "AA", "taxes": "A"} {
		objects := body[kind].([]any)
		require.Len(t, objects, len(actions), kind)
		for n, object := range objects {
			status := object.(map[string]any)["upipr_status"].(map[string]any)
			require.Equal(t, actions[n:n+1], status["action"], "%s[%d]", kind, n)
			require.Contains(t, status["err_msg"], "the hub could not process the request", "%s[%d]", kind, n)
		}
	}
}

func TestFailedReadOfARequestIsRetried(t *testing.T) {
	require.NotErrorAs(t, core.UnreadableRequest(errors.New("no memory")), new(core.FinalError))
}
