package webhook

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/retry"
)

func TestDecodeInputErrorsNameTheField(t *testing.T) {
	const good = `"event_type":"order_placed","url":"https://pos.example.com/hook"`
	many := make([]string, MaxHeaders+1)
	for i := range many {
		many[i] = fmt.Sprintf(`"x-%d":"v"`, i)
	}
	large := `"x-0":"v"`
	for i := range 4 {
		large += fmt.Sprintf(`,"x-%d":"%s"`, i+1, strings.Repeat("v", 4096))
	}
	for name, row := range map[string]struct{ body, path string }{
		"nothing":                {`{}`, "event_type"},
		"no url":                 {`{"event_type":"order_placed"}`, "url"},
		"unknown event":          {`{"event_type":"order_eaten","url":"https://a.example"}`, "event_type"},
		"unknown number":         {`{"event_type":19,"url":"https://a.example"}`, "event_type"},
		"fraction":               {`{"event_type":18.5,"url":"https://a.example"}`, "event_type"},
		"event as object":        {`{"event_type":{},"url":"https://a.example"}`, "event_type"},
		"empty url":              {`{"event_type":18,"url":""}`, "url"},
		"relative url":           {`{"event_type":18,"url":"/hook"}`, "url"},
		"other scheme":           {`{"event_type":18,"url":"ftp://a.example"}`, "url"},
		"credentials in the url": {`{"event_type":18,"url":"https://a:b@a.example"}`, "url"},
		"fragment":               {`{"event_type":18,"url":"https://a.example/#x"}`, "url"},
		"blank after the url":    {`{"event_type":18,"url":"https://a.example/x "}`, "url"},
		"units":                  {`{` + good + `,"retrial_interval_units":"hours"}`, "retrial_interval_units"},
		"active as text":         {`{` + good + `,"active":"yes"}`, "active"},
		"headers as list":        {`{` + good + `,"headers":["x-a"]}`, "headers"},
		"header of a number":     {`{` + good + `,"headers":{"x-a":1}}`, "headers.x-a"},
		"header name":            {`{` + good + `,"headers":{"x a":"v"}}`, "headers.x a"},
		"header value":           {`{` + good + `,"headers":{"x-a":"v\r\nx-b: w"}}`, "headers.x-a"},
		"host":                   {`{` + good + `,"headers":{"host":"v"}}`, "headers.host"},
		"content type":           {`{` + good + `,"headers":{"CONTENT-TYPE":"v"}}`, "headers.CONTENT-TYPE"},
		"connection":             {`{` + good + `,"headers":{"Connection":"v"}}`, "headers.Connection"},
		"signature":              {`{` + good + `,"headers":{"webhook-signature":"v"}}`, "headers.webhook-signature"},
		"trace":                  {`{` + good + `,"headers":{"Traceparent":"v"}}`, "headers.Traceparent"},
		"state of a trace":       {`{` + good + `,"headers":{"tracestate":"v"}}`, "headers.tracestate"},
		"blank in the query":     {`{"event_type":18,"url":"https://a.example/?a=b c"}`, "url"},
		"one header twice":       {`{` + good + `,"headers":{"X-A":"v","x-a":"w"}}`, "headers.x-a"},
		"too large":              {`{` + good + `,"headers":{` + large + `}}`, "headers"},
		"too many":               {`{` + good + `,"headers":{` + strings.Join(many, ",") + `}}`, "headers"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := DecodeInput([]byte(row.body), false)
			require.Equal(t, core.Invalid, core.CodeOf(err))
			require.Equal(t, row.path, err.(*core.Error).Violations[0].Path)
		})
	}
}

func TestHeadersThatTheHubSendsAreDropped(t *testing.T) {
	for header, dropped := range map[string]bool{
		`"content-type":"application/json"`:                 true,
		`"Content-Type":"Application/JSON; charset=UTF-8"`:  true,
		`"X-Event-Type":"order_placed"`:                     true,
		`"content-type":"application/json; charset=latin1"`: false,
		`"content-type":"application/json; version=2"`:      false,
		`"x-event-type-id":"18"`:                            true,
		`"x-event-type-id":"19"`:                            false,
		`"content-type":"application/xml"`:                  false,
		`"content-type":""`:                                 false,
		`"x-event-type":"order_status_update"`:              false,
		`"host":"A.example"`:                                true,
		`"host":"b.example"`:                                false,
		`"Content-Length":"10"`:                             false,
		`"webhook-signature":"v1,x"`:                        false,
	} {
		input, err := DecodeInput([]byte(`{"event_type":18,"url":"https://a.example",`+
			`"headers":{"x-key":"k",`+header+`}}`),
			false)
		require.Equal(t, dropped, err == nil, header)
		if dropped {
			require.Equal(t, map[string]string{"x-key": "k"}, input.Headers, header)
		}
	}
}

func TestDecodeInputReadsNamesAndNumbers(t *testing.T) {
	for text, event := range map[string]core.EventType{
		`"order_placed"`: core.OrderPlaced, `18`: core.OrderPlaced, `"18"`: core.OrderPlaced,
		`18.0`: core.OrderPlaced, `1.8e1`: core.OrderPlaced,
		`12002`: core.HubMenuPublish, `12004`: core.ItemStateToggle,
		`12005`: core.OptionStateToggle, `60008`: core.OrderStatusUpdate, `60012`: core.RiderStatusUpdate,
		`60013`: core.InventoryUpdate,
		`60014`: core.StoreCreation, `60015`: core.StoreAction, `60016`: core.CatalogueTimingGroup,
		`60018`:           core.OrderItemsOOSProcessed,
		`"webhook_retry"`: core.WebhookRetry, `"feature_action"`: core.FeatureAction,
	} {
		input, err := DecodeInput([]byte(`{"event_type":`+text+
			`,"url":"https://a.example","retrial_interval_units":"Seconds"}`), false)
		require.NoError(t, err, text)
		require.Equal(t, event, input.EventType)
		require.Equal(t, Seconds, *input.Units)
		require.Nil(t, input.Active)
	}
	input, err := DecodeInput([]byte(`{"active":false,"url":null}`), true)
	require.NoError(t, err)
	require.False(t, *input.Active)
	require.Nil(t, input.URL)
	require.Empty(t, input.EventType)
}

func TestDecodeInputTreatsNullAsNotSent(t *testing.T) {
	for headers, kept := range map[string]map[string]string{
		`null`:                            nil,
		`{}`:                              {},
		`[]`:                              {},
		`{"X-A":null}`:                    {},
		`{"X-A":null,"X-B":"","X-C":"c"}`: {"X-B": "", "X-C": "c"},
	} {
		input, err := DecodeInput([]byte(`{"headers":`+headers+`}`), true)
		require.NoError(t, err, headers)
		require.Equal(t, kept, input.Headers, headers)
	}
}

func TestRetryScheduleHasTheUnitsOfItsWebhook(t *testing.T) {
	require.Equal(t, retry.Default(time.Minute), Minutes.Schedule())
	require.Equal(t, retry.Default(time.Second), Seconds.Schedule())
}

func FuzzDecodeInput(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"event_type":18,"url":"https://a.example","headers":{"x":"y"}}`, `{"event_type":"\u0000"}`,
		`{"event_type":1e3}`, `{"headers":{"\ud83d":"x"}}`,
		`{"webhooks":[{"event_type":18,"url":"https://a.example","event_type_header":"X-A"},{"url":7},null]}`,
	} {
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, update bool) {
		if _, err := DecodeBulk(body); err != nil && core.CodeOf(err) != core.Invalid {
			t.Fatalf("not an Invalid error: %v", err)
		}
		if _, err := DecodeInput(body, update); err != nil && core.CodeOf(err) != core.Invalid {
			t.Fatalf("not an Invalid error: %v", err)
		}
	})
}
