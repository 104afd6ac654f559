package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// sampleStoreCount is a request of a real chain, if the machine has the file.
const sampleStoreCount = "../../../../shared/data/stores-california.json"

const sampleStores = `{"stores": [
	{"ref_id": "S-1", "city": "Oakland", "name": "Harbour Street", "min_pickup_time": 600, "min_delivery_time": 2700,
	 "contact_phone": "+15105550100", "notification_phones": ["+15105550101"],` +
	` "notification_emails": ["harbour@example.com"],
	 "min_order_value": 12.50, "hide_from_ui": true, "address": "1 Harbour Street\nOakland", "zip_codes": ["94607",` +
	` "94608"],
	 "geo_longitude": -122.2868, "geo_latitude": 37.8002, "active": true, "ordering_enabled": false,
	 "translations": [{"language": "es", "name": "Calle del Puerto"}, {"language": "ja", "name": "港通り"}],
	 "excluded_platforms": ["app"], "platform_data": [{"name": "web", "url": "https://example.com/s-1",` +
	` "platform_store_id": "77"}],
	 "timings": [{"day": "friday", "slots": [{"start_time": "10:00:00", "end_time": "14:00:00"},` +
	` {"start_time": "18:00:00", "end_time": "01:30:00"}]}]},
	{"ref_id": "S-2", "city": "San José", "name": "Plaza \"Norte\" \\ 2", "hide_from_ui": false, "active": true,` +
	` "ordering_enabled": true,
	 "included_platforms": ["web"]}
]}`

// journey is a client with a hub, a webhook and its endpoint.
type journey struct {
	hub    string
	client apiClient
	sink   *callbackSink
	id     int64
	secret string
}

func startJourney(t *testing.T) journey {
	t.Helper()
	hub, env := useSharedHub(t)
	sink := newCallbackSink(t, 0)
	j := journey{hub: hub.URL, client: newAPIClient(t, env), sink: sink}
	j.id, j.secret = subscribe(t, j.hub, j.client, sink.url+"/subscribed")
	return j
}

// post sends a store request and returns its reference.
func (j journey) post(t *testing.T, body any) string {
	t.Helper()
	response := hubtest.Call(t, "POST", j.hub+storesPath, j.client.authorization, body)
	require.Equal(t, http.StatusOK, response.Status, "%s", response.Body)
	accepted := response.Object(t)
	require.Equal(t, "success", accepted["status"])
	return accepted["reference"].(string)
}

// requireStored checks that every store reads back as sent.
func (j journey) requireStored(t *testing.T, request string) {
	t.Helper()
	var sent struct {
		Stores []map[string]any `json:"stores"`
	}
	require.NoError(t, json.Unmarshal([]byte(request), &sent))
	stored := map[string]map[string]any{}
	for after, more := "", true; more; more = after != "" {
		response := hubtest.Call(t, "GET", j.hub+storesPath+"?limit=1000&after="+after, j.client.authorization, nil)
		require.Equal(t, http.StatusOK, response.Status, "%s", response.Body)
		var page struct {
			Stores []map[string]any `json:"stores"`
			Meta   struct {
				Next string `json:"next"`
			} `json:"meta"`
		}
		require.NoError(t, json.Unmarshal(response.Body, &page))
		for _, one := range page.Stores {
			require.Positive(t, one["id"])
			delete(one, "id")
			stored[one["ref_id"].(string)] = one
		}
		after = page.Meta.Next
	}
	require.Len(t, stored, len(sent.Stores))
	for _, one := range sent.Stores {
		require.Equal(t, one, stored[one["ref_id"].(string)])
	}
}

// requireAll checks that a callback reports the same outcome for every store.
func requireAll(t *testing.T, got callback, action string, created, updated int) {
	t.Helper()
	require.Equal(t, created, got.Stats.Created)
	require.Equal(t, updated, got.Stats.Updated)
	require.Zero(t, got.Stats.Errors)
	require.Len(t, got.Stores, created+updated)
	ids := map[int64]bool{}
	for _, one := range got.Stores {
		require.Equal(t, action, one.Status.Action)
		require.False(t, one.Status.Error, one.Status.Message)
		require.NotNil(t, one.Status.ID)
		ids[*one.Status.ID] = true
	}
	require.Len(t, ids, created+updated)
}

func TestStoreRequestLeadsToASignedCallback(t *testing.T) {
	j := startJourney(t)
	first := j.sink.await(t, j.post(t, sampleStores), "/subscribed", j.secret)
	requireAll(t, first, "A", 2, 0)
	j.requireStored(t, sampleStores)

	second := j.sink.await(t, j.post(t, sampleStores), "/subscribed", j.secret)
	requireAll(t, second, "U", 0, 2)
	require.NotEqual(t, first.WebhookID, second.WebhookID)
	for i := range first.Stores {
		require.Equal(t, first.Stores[i].Status.ID, second.Stores[i].Status.ID)
	}
	j.requireStored(t, sampleStores)

	one := hubtest.Call(t, "GET", j.hub+storesPath+"S-2/", j.client.authorization, nil)
	require.Equal(t, http.StatusOK, one.Status)
	require.Equal(t, "San José", one.Object(t)["city"])
	require.InDelta(t, *first.Stores[1].Status.ID, one.Object(t)["id"], 0)
}

func TestRealStoreListIsIngestedAndReported(t *testing.T) {
	request, err := os.ReadFile(sampleStoreCount)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("this machine has no such file")
	}
	require.NoError(t, err)
	j := startJourney(t)
	requireAll(t, j.sink.await(t, j.post(t, string(request)), "/subscribed", j.secret), "A", 2558, 0)
	j.requireStored(t, string(request))
	requireAll(t, j.sink.await(t, j.post(t, string(request)), "/subscribed", j.secret), "U", 0, 2558)
	j.requireStored(t, string(request))
}

func TestStoreCallbackNamesFailedStores(t *testing.T) {
	j := startJourney(t)
	rejected := hubtest.Call(t, "POST", j.hub+storesPath, j.client.authorization,
		`{"stores": [{"ref_id": "good", "city": "Oakland", "name": "Good"}, {"ref_id": "b", "geo_latitude": 91}]}`)
	require.Equal(t, http.StatusBadRequest, rejected.Status, "of which nothing is taken: the good one is made below")
	got := j.sink.await(t, j.post(t, `{"stores": [
		{"ref_id": "good", "city": "Oakland", "name": "Good"},
		{"ref_id": "nameless", "city": "Oakland"},
		{"ref_id": "elsewhere", "city": "Oakland", "name": "Elsewhere", "included_platforms": ["web", "nowhere"]},
		{"ref_id": "homeless", "name": "Homeless"}]}`),
		"/subscribed", j.secret)
	require.Equal(t, 2, got.Stats.Created)
	require.Zero(t, got.Stats.Updated)
	require.Equal(t, 2, got.Stats.Errors)
	require.False(t, got.Stores[0].Status.Error)
	require.False(t, got.Stores[2].Status.Error, "an unknown platform is kept")
	for i, message := range map[int]string{1: "name is required", 3: "city is required"} {
		status := got.Stores[i].Status
		require.True(t, status.Error)
		require.Equal(t, "A", status.Action)
		require.Nil(t, status.ID)
		require.Contains(t, status.Message, message)
		require.Equal(t, http.StatusNotFound,
			hubtest.Call(t, "GET", j.hub+storesPath+got.Stores[i].RefID, j.client.authorization, nil).Status)
	}
}

func TestCallbackURLReplacesTheSubscription(t *testing.T) {
	j := startJourney(t)
	reference := j.post(t, map[string]any{
		"callback_url": j.sink.url + "/just-once",
		"stores":       []any{map[string]any{"ref_id": "S-1", "city": "Oakland", "name": "Harbour Street"}},
	})
	requireAll(t, j.sink.await(t, reference, "/just-once", j.client.callbackSecret), "A", 1, 0)
	after := j.post(t, sampleStores)
	j.sink.await(t, after, "/subscribed", j.secret)
	require.Len(t, j.sink.arrivals(t), 2)
	require.Len(t, j.sink.arrivals(t)[reference], 1)
}

func TestWebhookCanBeDisabledAndMoved(t *testing.T) {
	j := startJourney(t)
	one := j.hub + webhooksPath + strconv.FormatInt(j.id, 10)
	require.Equal(t, http.StatusOK, hubtest.Call(t, "PUT", one, j.client.authorization, `{"active": false}`).Status)
	silent := j.post(t, sampleStores)
	withCallback := j.post(t, map[string]any{"callback_url": j.sink.url + "/outcome",
		"stores": []any{map[string]any{"ref_id": "S-1"}}})
	j.sink.await(t, withCallback, "/outcome", j.client.callbackSecret)
	changed := map[string]any{"active": true, "url": j.sink.url + "/moved", "headers": map[string]any{"X-Till": "7"}}
	require.Equal(t, http.StatusOK, hubtest.Call(t, "PUT", one, j.client.authorization, changed).Status)
	got := j.sink.await(t, j.post(t, sampleStores), "/moved", j.secret)
	require.Equal(t, "7", got.Header.Get("X-Till"))
	require.NotContains(t, j.sink.arrivals(t), silent)
}
