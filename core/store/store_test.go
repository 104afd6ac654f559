package store

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
)

func one(fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return `{"stores":[{"ref_id":"S-17"` + fields + `}]}`
}

func TestDecodeErrorsNameStoreAndField(t *testing.T) {
	manyStores := `{"stores":[` + strings.TrimSuffix(strings.Repeat(`{},`, MaxStores+1), ",") + `]}`
	for name, row := range map[string]struct{ body, path, message string }{
		"no stores":           {`{}`, "stores", "stores is required"},
		"null stores":         {`{"stores":null}`, "stores", "stores is required"},
		"empty":               {`{"stores":[]}`, "stores", "at least one"},
		"too many":            {manyStores, "stores", "at most 5000 stores, not 5001"},
		"not an array":        {`{"stores":{}}`, "stores", "must be an array"},
		"no ref_id":           {`{"stores":[{"name":"x"}]}`, "stores[0].ref_id", `stores[0]: ref_id is required`},
		"null ref_id":         {`{"stores":[{"ref_id":null}]}`, "stores[0].ref_id", `ref_id is required`},
		"blank ref_id":        {`{"stores":[{"ref_id":" "}]}`, "stores[0].ref_id", `must not be empty`},
		"the master's ref_id": {`{"stores":[{"ref_id":"-1"}]}`, "stores[0].ref_id", `master catalogue`},
		"a path as ref_id":    {`{"stores":[{"ref_id":".."}]}`, "stores[0].ref_id", `ref_id must not be "." or ".."`},
		"a path as platform's id": {one(`"platform_data":[{"name":"a","platform_store_id":"."}]`),
			"stores[0].platform_data[0].platform_store_id", `must not be "." or ".."`},
		"long ref_id": {`{"stores":[{"ref_id":"` + strings.Repeat("x", 256) + `"}]}`, "stores[0].ref_id",
			`at most 255`},
		"ref_id twice": {`{"stores":[{"ref_id":"a"},{"ref_id":"b"},{"ref_id":"a"}]}`, "stores[2].ref_id",
			`stores[2] (ref_id "a"): ref_id is the same as in stores[0]`},
		"empty name":       {one(`"name":""`), "stores[0].name", `stores[0] (ref_id "S-17"): name must not be empty`},
		"name of a number": {one(`"name":5`), "stores[0].name", `stores[0] (ref_id "S-17"): name must be a string`},
		"negative time":    {one(`"min_pickup_time":-1`), "stores[0].min_pickup_time", `seconds`},
		"huge time":        {one(`"min_delivery_time":9999999999`), "stores[0].min_delivery_time", `seconds`},
		"negative amount":  {one(`"min_order_value":-0.01`), "stores[0].min_order_value", `must not be negative`},
		"latitude":         {one(`"geo_latitude":90.1`), "stores[0].geo_latitude", `between -90 and 90`},
		"longitude":        {one(`"geo_longitude":-180.5`), "stores[0].geo_longitude", `between -180 and 180`},
		"e-mail": {one(`"notification_emails":["a@example.com","nobody"]`),
			"stores[0].notification_emails[1]", `e-mail`},
		"e-mail with a name": {one(`"notification_emails":["A <a@example.com>"]`), "stores[0].notification_emails[0]",
			`e-mail`},
		"empty zip code": {one(`"zip_codes":["94607",""]`), "stores[0].zip_codes[1]", `must not be empty`},
		"translation without name": {one(`"translations":[{"language":"en"}]`), "stores[0].translations[0].name",
			`must not be empty`},
		"platform without name": {one(`"platform_data":[{"url":"https://a.example"}]`),
			"stores[0].platform_data[0].name", `must not be empty`},
		"platform twice": {one(`"platform_data":[{"name":"a"},{"name":"a"}]`), "stores[0].platform_data[1].name",
			`given twice`},
		"platform URL": {one(`"platform_data":[{"name":"a","url":"ftp://x"}]`), "stores[0].platform_data[0].url",
			`https://`},
		"weekday":    {one(`"timings":[{"day":"funday","slots":[]}]`), "stores[0].timings[0].day", `weekday`},
		"no weekday": {one(`"timings":[{"slots":[]}]`), "stores[0].timings[0].day", `weekday`},
		"hour 24": {one(`"timings":[{"day":"monday","slots":[{"start_time":"10:00:00",` +
			`"end_time":"24:00:00"}]}]`), "stores[0].timings[0].slots[0].end_time", `HH:MM:SS`},
		"no end": {one(`"timings":[{"day":"monday","slots":[{"start_time":"10:00:00"}]}]`),
			"stores[0].timings[0].slots[0].end_time", `is required`},
		"unpadded time": {one(`"timings":[{"day":"monday","slots":[{"start_time":"9:00:00",` +
			`"end_time":"10:00:00"}]}]`), "stores[0].timings[0].slots[0].start_time", `HH:MM:SS`},
		"empty slot": {one(`"timings":[{"day":"monday","slots":[{"start_time":"10:00","end_time":"10:00:00"}]}]`),
			"stores[0].timings[0].slots[0]", `same time`},
		"overlap": {one(`"timings":[{"day":"monday","slots":[{"start_time":"10:00",` +
			`"end_time":"14:00"},{"start_time":"13:59:59","end_time":"15:00"}]}]`), "stores[0].timings[0].slots[1]",
			`overlaps timings[0].slots[0]`},
		"overlap across entries": {one(`"timings":[{"day":"monday","slots":[{"start_time":"22:00",` +
			`"end_time":"02:00"}]},{"day":"MONDAY","slots":[{"start_time":"23:00","end_time":"23:30"}]}]`),
			"stores[0].timings[1].slots[0]", `overlaps`},
		"too large": {one(`"zip_codes":["1"],"translations":[` +
			strings.TrimSuffix(strings.Repeat(`{"language":"en","name":"`+strings.Repeat("x", 250)+`"},`, 4000), ",") +
			`]`), "stores[0].translations", `at most 1048576 bytes long, not 11`},
		"callback address": {`{"stores":[{"ref_id":"a"}],"callback_url":"pos.example.com"}`, "callback_url",
			`https://`},
		"callback with password": {`{"stores":[{"ref_id":"a"}],"callback_url":"https://u:p@pos.example.com"}`,
			"callback_url", `password`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]byte(row.body))
			require.Equal(t, core.Invalid, core.CodeOf(err))
			require.Contains(t, err.Error(), row.message)
			require.Equal(t, row.path, err.(*core.Error).Violations[0].Path)
		})
	}
}

func TestDecodeNormalizesTimings(t *testing.T) {
	request, err :=
		Decode([]byte(one(`"timings":[{"day":"FriDay","slots":[{"start_time":"18:00","end_time":"02:00:00"},` +
			`{"start_time":"09:00","end_time":"18:00"}]},{"day":"sunday","slots":[]}]`)))
	require.NoError(t, err)
	require.Equal(t, []Timing{
		{Day: "friday", Slots: []core.HoursSlot{{StartTime: "18:00:00", EndTime: "02:00:00"},
			{StartTime: "09:00:00", EndTime: "18:00:00"}}},
		{Day: "sunday", Slots: []core.HoursSlot{}},
	}, request.Stores[0].Object.Timings)
}

func TestDecodeNormalizesLanguages(t *testing.T) {
	request, err := Decode([]byte(one(`"translations":[{"language":"HI","name":"x"},{"language":"iw","name":"y"},` +
		`{"language":"es_mx","name":"z"},{"language":"he","name":"again"},{"language":"QX","name":"q"},{"name":"r"}]`)))
	require.NoError(t, err)
	require.Equal(t, []Translation{{"hi", "x"}, {"he", "y"}, {"es-MX", "z"}, {"qx", "q"}},
		request.Stores[0].Object.Translations)
	plan := Decide(request, State{}, func() int64 { return 1 })
	require.Empty(t, plan.Outcomes[0].Warnings, "the store fails, because it has no city")
	request.Stores[0].Object.City, request.Stores[0].Object.Name = new("C"), new("N")
	plan = Decide(request, State{}, func() int64 { return 1 })
	require.Equal(t, []core.Warning{
		{Path: "translations[2].language",
			Message: `translations[2].language has a region, and is stored as "es-MX"`},
		{Path: "translations[3].language",
			Message: "translations[3].language is given twice, and the first translation is used"},
		{Path: "translations[4].language", Message: `translations[4].language is not a two-letter ISO 639-1 code, ` +
			`and is stored as "qx"`},
		{Path: "translations[5].language",
			Message: "translations[5].language is empty, and the translation is ignored"},
	}, plan.Outcomes[0].Warnings)
}

func TestBlankPlatformsAndLanguagesAreDropped(t *testing.T) {
	request, err := Decode([]byte(one(`"excluded_platforms":["web",""," "],"included_platforms":[""],` +
		`"translations":[{"language":"","name":"x"}]`)))
	require.NoError(t, err)
	submitted := request.Stores[0]
	require.Equal(t, []string{"web"}, submitted.Object.ExcludedPlatforms)
	require.Nil(t, submitted.Object.IncludedPlatforms, "an empty list would list the store on no platform")
	require.Nil(t, submitted.Object.Translations, "an empty list would delete those of the store")
	require.Equal(t, []core.Warning{
		{Path: "excluded_platforms", Message: "excluded_platforms contains empty names, which are ignored"},
		{Path: "included_platforms", Message: "included_platforms contains only empty names, and is read as absent"},
		{Path: "translations[0].language",
			Message: "translations[0].language is empty, and the translation is ignored"},
	}, submitted.Warnings)
}

func TestErrorInPlatformsHasTheSentIndex(t *testing.T) {
	_, err := Decode([]byte(one(`"excluded_platforms":["web","","` + strings.Repeat("x", 256) + `"]`)))
	require.ErrorContains(t, err, "excluded_platforms[2] must be at most 255")
}

func TestFalseTextsAreReadAsEmpty(t *testing.T) {
	request, err := Decode([]byte(one(`"name":"N","address":false,"contact_phone":false,"platform_data":[` +
		`{"name":"web","platform_store_id":false},{"name":"app","url":false,"platform_store_id":"7"}]`)))
	require.NoError(t, err)
	o := request.Stores[0].Object
	require.Equal(t, []PlatformData{{Name: "web"}, {Name: "app", PlatformStoreID: "7"}}, o.PlatformData)
	require.Equal(t, []string{"N", "", ""}, []string{*o.Name, *o.Address, *o.ContactPhone})
	require.Equal(t, []core.Warning{
		{Path: "contact_phone", Message: "contact_phone is false, and is read as empty"},
		{Path: "address", Message: "address is false, and is read as empty"},
		{Path: "platform_data[0].platform_store_id",
			Message: "platform_data[0].platform_store_id is false, and is read as empty"},
		{Path: "platform_data[1].url", Message: "platform_data[1].url is false, and is read as empty"},
	}, request.Stores[0].Warnings)
	for field, body := range map[string]string{"name": one(`"name":false`), "city": one(`"address":false,"city":1`),
		"address":               one(`"address":true`),
		"platform_data[0].name": one(`"platform_data":[{"name":false,"url":false}]`)} {
		_, err := Decode([]byte(body))
		require.Equal(t, core.Invalid, core.CodeOf(err), body)
		require.ErrorContains(t, err, field+" must be")
	}
}

func TestTranslationsWithFalseNamesAreDropped(t *testing.T) {
	request, err := Decode([]byte(one(`"translations":[{"language":"de","name":false},{"language":"fr","name":"F"},` +
		`{"language":"FR","name":"again"}]`)))
	require.NoError(t, err)
	require.Equal(t, []Translation{{"fr", "F"}}, request.Stores[0].Object.Translations)
	require.Equal(t, []core.Warning{
		{Path: "translations[0].name", Message: "translations[0].name is false, and the translation is ignored"},
		{Path: "translations[2].language",
			Message: "translations[2].language is given twice, and the first translation is used"},
	}, request.Stores[0].Warnings)
	request, err = Decode([]byte(one(`"translations":[{"language":"de","name":false}]`)))
	require.NoError(t, err)
	require.Nil(t, request.Stores[0].Object.Translations, "an empty list would delete those of the store")
}

// oneJobStorage is the Storage of a job, with a state.
type oneJobStorage struct {
	state  State
	result IngestResult
}

func (s *oneJobStorage) Ingest(_ context.Context, _ core.Job, _ Request,
	decide func(State, func() int64) (IngestResult, error)) (err error) {
	s.result, err = decide(s.state, func() int64 { return 1 })
	return err
}

func TestUnreadableRequestReportsEveryStore(t *testing.T) {
	storage := &oneJobStorage{state: State{Stores: map[string]Existing{"old": {ID: 7}}}}
	i := Ingestor{Storage: storage, Clock: core.NewSystemClock(nil)}
	job := core.Job{ID: core.NewID(time.Now()),
		Body: []byte(`{"stores":[{"ref_id":"old","min_pickup_time":"later a text"},{"ref_id":"new","name":""}]}`)}
	err := i.Run(t.Context(), job, func(int, int) {})
	require.ErrorAs(t, err, new(core.FinalError))
	require.Empty(t, storage.result.Event.Body, "nothing was stored")

	require.NoError(t, i.Fail(t.Context(), job, err))
	require.Contains(t, storage.result.Failure, "reading a stored request")
	require.Empty(t, storage.result.Changes)
	eventtest.Check(t, core.StoreCreation, storage.result.Event.Body)
	var body struct {
		Stats  Stats
		Stores []struct {
			Status struct {
				Action  string `json:"action"`
				Error   bool   `json:"error"`
				Message string `json:"err_msg"`
			} `json:"upipr_status"`
		}
	}
	require.NoError(t, json.Unmarshal(storage.result.Event.Body, &body))
	require.Equal(t, Stats{Errors: 2}, body.Stats)
	for n, action := range []string{"U", "A"} {
		require.Equal(t, action, body.Stores[n].Status.Action)
		require.Contains(t, body.Stores[n].Status.Message, "the hub could not process the request")
	}
}

func TestDecodeAcceptsValidStores(t *testing.T) {
	for _, body := range []string{
		one(``), one(`"name":null,"zip_codes":null,"flush":true,"min_order_value":null`),
		one(`"min_pickup_time":0,"min_order_value":0,"geo_latitude":-90,"geo_longitude":180,` +
			`"zip_codes":[],"timings":[]`),
		one(`"min_pickup_time":600.0,"min_delivery_time":1.8e3`),
		one(`"excluded_platforms":[],"included_platforms":["web"]`),
		one(`"contact_phone":"","address":"","platform_data":[{"name":"a","url":"","platform_store_id":""}]`),
		`{"stores":[{"ref_id":"#1 & \"ñ\" /?"}],"callback_url":"https://pos.example.com/hook?a=b"}`,
		one(`"platform_data":[{"name":"a","url":"https://a.example/city#/store/17"}]`),
		`{"stores":[{"ref_id":"a"}],"callback_url":""}`,
	} {
		_, err := Decode([]byte(body))
		require.NoError(t, err, body)
	}
}

func decide(t *testing.T, body string, state State) (Request, Plan) {
	t.Helper()
	request, err := Decode([]byte(body))
	require.NoError(t, err)
	id := int64(100)
	return request, Decide(request, state, func() int64 { id++; return id })
}

func TestEachStoreSucceedsOrFailsIndependently(t *testing.T) {
	request, plan := decide(t, `{"stores":[
		{"ref_id":"new","name":"N","city":"C"},
		{"ref_id":"old","name":"changed"},
		{"ref_id":"nameless","city":"C"},
		{"ref_id":"cityless","name":"N"},
		{"ref_id":"old2","included_platforms":["nowhere","web"]},
		{"ref_id":"new2","name":"N","city":"C","platform_data":[{"name":"nowhere"}],"upipr_status":{"action":"A"},
			"warnings":[]}]}`,
		State{Stores: map[string]Existing{"old": {ID: 7}, "old2": {ID: 8}},
			Platforms: []core.Platform{{Name: "web", ServedBy: core.ServedByMerchant}},
			Names:     core.NewPlatformNames([]string{"web"})})
	require.Equal(t, Stats{Created: 2, Updated: 2, Errors: 2}, plan.Stats)
	later := ` names the platform "nowhere", which this business does not have yet`
	require.Equal(t, []Outcome{
		{"A", 101, "", nil}, {"U", 7, "", nil},
		{"A", 0, "name is required to create a store", nil}, {"A", 0, "city is required to create a store", nil},
		{"U", 8, "", []core.Warning{{Path: "included_platforms", Message: "included_platforms" + later}}},
		{"A", 102, "", []core.Warning{{Path: "platform_data", Message: "platform_data" + later}}},
	}, plan.Outcomes)
	require.Len(t, plan.Changes, 4)

	reference := core.ID{1}
	body, err := Callback(reference, request, plan)
	require.NoError(t, err)
	eventtest.Check(t, core.StoreCreation, body)
	var callback struct {
		Reference string
		Stats     Stats
		Stores    []map[string]any
	}
	require.NoError(t, json.Unmarshal(body, &callback))
	require.Equal(t, reference.String(), callback.Reference)
	require.Equal(t, plan.Stats, callback.Stats)
	require.Equal(t, map[string]any{"action": "A", "id": 101.0, "error": false}, callback.Stores[0]["upipr_status"])
	require.Equal(t, "changed", callback.Stores[1]["name"])
	require.Equal(t, map[string]any{"action": "A", "error": true, "err_msg": "name is required to create a store"},
		callback.Stores[2]["upipr_status"])
	require.Equal(t, map[string]any{"action": "A", "id": 102.0, "error": false}, callback.Stores[5]["upipr_status"],
		"an echoed status is replaced")
	require.Equal(t, []any{map[string]any{"path": "platform_data", "message": "platform_data" + later}},
		callback.Stores[5]["warnings"], "and so are echoed warnings")
}

func TestPlatformListsDecideTheListing(t *testing.T) {
	all := []string{"web", "app", "aggregator-b"}
	for name, row := range map[string]struct {
		sent string
		want []string
	}{
		"neither: nowhere":           {``, []string{}},
		"excluded empty: everywhere": {`"excluded_platforms":[]`, all},
		"excluded one":               {`"excluded_platforms":["web"]`, []string{"app", "aggregator-b"}},
		"included empty: nowhere":    {`"included_platforms":[]`, []string{}},
		"included one":               {`"included_platforms":["app"]`, []string{"app"}},
		"both: only excluded counts": {`"excluded_platforms":["app"],"included_platforms":["app"]`,
			[]string{"web", "aggregator-b"}},
		"both, excluded empty: everywhere": {`"excluded_platforms":[],"included_platforms":["app"]`, all},
		"excluded null, included one: the one": {`"excluded_platforms":null,"included_platforms":["app"]`,
			[]string{"app"}},
	} {
		t.Run(name, func(t *testing.T) {
			fields := `"name":"N","city":"C"`
			if row.sent != "" {
				fields += "," + row.sent
			}
			state := State{Names: core.NewPlatformNames(all)}
			for _, name := range all {
				state.Platforms = append(state.Platforms, core.Platform{Name: name})
			}
			_, plan := decide(t, one(fields), state)
			require.Len(t, plan.Changes, 1)
			object := plan.Changes[0].Object
			require.False(t, object.ExcludedPlatforms != nil && object.IncludedPlatforms != nil)
			require.Equal(t, row.want, Listing{object.ExcludedPlatforms, object.IncludedPlatforms}.Filter(all))
		})
	}
}

func FuzzDecode(f *testing.F) {
	sample, err := os.ReadFile("testdata/stores.json")
	require.NoError(f, err)
	f.Add(sample)
	for _, seed := range []string{
		`{}`, one(``), `{"stores":[{"ref_id":"a","ref_id":"b"}]}`, "{\"stores\":[{\"ref_id\":\"\xff\"}]}",
		`{"stores":[{"ref_id":"\u0000"}]}`,
		one(`"timings":[{"day":"monday","slots":[{"start_time":"10:00","end_time":"09:00"}]}]`),
		one(`"min_order_value":1e400`),
		strings.Repeat(`{"stores":`, 500), `{"stores":[` + strings.Repeat("[", 3000),
		one(`"name":"` + strings.Repeat("x", 1<<16) + `"`),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		request, err := Decode(body)
		if err != nil {
			if core.CodeOf(err) != core.Invalid {
				t.Fatalf("not an Invalid error: %v", err)
			}
			return
		}
		plan := Decide(request, State{}, func() int64 { return 1 })
		callback, err := Callback(core.ID{}, request, plan)
		if err != nil {
			t.Fatal(err)
		}
		eventtest.Check(t, core.StoreCreation, callback)
	})
}

func TestTenMegabyteStringIsRejected(t *testing.T) {
	_, err := Decode([]byte(one(fmt.Sprintf(`"name":%q`, strings.Repeat("x", 10<<20)))))
	require.Contains(t, err.Error(), "name must be at most 255 characters")
	require.Less(t, len(err.Error()), 200)
}
