package web

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/order"
)

// openAPIDocument loads the document and validates it, with its examples.
func openAPIDocument(t *testing.T) *openapi3.T {
	t.Helper()
	document, err := openapi3.NewLoader().LoadFromData(OpenAPI())
	require.NoError(t, err)
	require.NoError(t, document.Validate(context.Background(), openapi3.EnableExamplesValidation(),
		openapi3.EnableSchemaPatternValidation()))
	return document
}

func TestOpenAPIIsValid(t *testing.T) {
	document := openAPIDocument(t)
	assert.True(t, document.IsOpenAPI31OrLater())
	for _, event := range core.EventTypes() {
		assert.Contains(t, document.Webhooks, string(event))
	}
	assert.Len(t, document.Webhooks, len(core.EventTypes()))
	assert.NotRegexp(t, `"<[a-z_]+>"|\{(retry_[a-z]+|[a-z]+_values)\}`, string(OpenAPI()),
		"every variable is filled in")
}

var parameterPattern = regexp.MustCompile(`:([a-z_]+)`)

func TestOpenAPIDescribesTheRouteTable(t *testing.T) {
	served := map[string]route{}
	for _, r := range new(Server).routes() {
		served[r.method+" "+parameterPattern.ReplaceAllString(r.path, "{$1}")] = r
	}
	found := map[string]*openapi3.Operation{}
	for path, item := range openAPIDocument(t).Paths.Map() {
		for method, operation := range item.Operations() {
			found[method+" "+path] = operation
		}
	}
	for name, r := range served {
		operation := found[name]
		if !assert.NotNil(t, operation, "%s is served but not described", name) {
			continue
		}
		checkGuards(t, name, r, operation)
	}
	elsewhere := []string{"GET /docs", "GET /metrics"} // served outside the route table
	for name := range found {
		_, ok := served[name]
		assert.True(t, ok || slices.Contains(elsewhere, name), "%s is described but not served", name)
	}
}

// checkGuards compares the scope and throttle of a route with the document.
func checkGuards(t *testing.T, name string, r route, operation *openapi3.Operation) {
	t.Helper()
	responses := operation.Responses.Map()
	if r.scope == "" {
		assert.Empty(t, *operation.Security, "%s is open", name)
	} else {
		assert.Equal(t, r.scope == platformKey, operation.Security != nil, "%s needs a key", name)
		assert.Equal(t, string(r.scope), operation.Extensions["x-scope"], name)
		assert.Contains(t, responses, "401", name)
		assert.Contains(t, responses, "403", name)
	}
	tries := operation.Parameters.GetByInAndName("query", "dry_run") != nil
	assert.Equal(t, r.method != "GET" && slices.Contains(dryRuns, r.path), tries, "%s can be tried", name)
	waits := operation.Parameters.GetByInAndName("query", "wait") != nil
	assert.Equal(t, r.method != "GET" && slices.Contains(waitablePaths, r.path), waits, "%s can be waited for", name)
	if r.method != "GET" && r.scope != platformKey {
		assert.Contains(t, responses, "400", name)
	}
	declared, _ := operation.Extensions["x-rate-limit"].(map[string]any)
	if r.limit == "" {
		assert.Nil(t, declared, "%s is not throttled", name)
		return
	}
	assert.Contains(t, responses, "429", name)
	if r.limit == LimitOrders {
		assert.Nil(t, declared, "%s is not throttled by default", name)
		return
	}
	assert.Equal(t, "SERVERY_LIMIT_"+string(r.limit), declared["setting"], name)
	assert.Contains(t, responses["200"].Value.Headers, "RateLimit-Remaining", name)
}

// visit validates a value against a schema of the document as JSON Schema 2020-12, with formats.
func visit(t *testing.T, schema *openapi3.Schema, value any) error {
	t.Helper()
	raw, err := json.Marshal(value)
	require.NoError(t, err)
	decoder := json.NewDecoder(bytes.NewReader(raw))
	var plain any
	require.NoError(t, decoder.Decode(&plain))
	return schema.VisitJSON(plain, openapi3.EnableJSONSchema2020(), openapi3.EnableFormatValidation(),
		openapi3.MultiErrors())
}

func TestOpenAPIExamplesMatchTheirSchemas(t *testing.T) {
	document := openAPIDocument(t)
	checked := 0
	check := func(name string, schema *openapi3.SchemaRef, example any, examples openapi3.Examples) {
		values := map[string]any{}
		if example != nil {
			values[""] = example
		}
		for key, e := range examples {
			values[key] = e.Value.Value
		}
		for key, value := range values {
			checked++
			assert.NoError(t, visit(t, schema.Value, value), "%s %s", name, key)
		}
	}
	checkContent := func(name string, content openapi3.Content) {
		for media, described := range content {
			check(name+" "+media, described.Schema, described.Example, described.Examples)
		}
	}
	for name, operation := range everyOperation(document) {
		for _, p := range operation.Parameters {
			check(name+" "+p.Value.Name, p.Value.Schema, p.Value.Example, p.Value.Examples)
		}
		if operation.RequestBody != nil {
			checkContent(name, operation.RequestBody.Value.Content)
		}
		for status, response := range operation.Responses.Map() {
			checkContent(name+" "+status, response.Value.Content)
			for header, h := range response.Value.Headers {
				check(name+" "+status+" "+header, h.Value.Schema, h.Value.Example, h.Value.Examples)
			}
		}
	}
	assert.Greater(t, checked, 100)
}

func TestOrderExamplesHaveEveryKey(t *testing.T) {
	found := 0
	for name, operation := range everyOperation(openAPIDocument(t)) {
		response := operation.Responses.Value("200")
		if response == nil || response.Value.Content["application/json"] == nil ||
			response.Value.Content["application/json"].Schema.Ref != "#/components/schemas/OrderReading" {
			continue
		}
		found++
		example := response.Value.Content["application/json"].Example.(map[string]any)
		raw, err := json.Marshal(map[string]any{"customer": example["customer"], "order": example["order"]})
		require.NoError(t, err)
		var relay order.Relay
		require.NoError(t, json.Unmarshal(raw, &relay))
		again, err := json.Marshal(relay)
		require.NoError(t, err)
		assert.JSONEq(t, string(again), string(raw), name)
	}
	assert.Equal(t, 2, found)
}

func everyOperation(document *openapi3.T) map[string]*openapi3.Operation {
	all := map[string]*openapi3.Operation{}
	paths := document.Paths.Map()
	maps.Copy(paths, document.Webhooks)
	for path, item := range paths {
		for method, operation := range item.Operations() {
			all[method+" "+path] = operation
		}
	}
	return all
}

func TestOpenAPISchemasRejectInvalidResponses(t *testing.T) {
	schemas := openAPIDocument(t).Components.Schemas
	type object = map[string]any
	const reference = "01937a3e-9c1b-7cc4-8f0a-52d1c6e0b7aa"
	for _, c := range []struct {
		name, schema string
		value        object
		right        bool
	}{
		{"accepted", "Accepted", object{"status": "success", "message": "ok", "reference": reference}, true},
		{"accepted without reference", "Accepted", object{"status": "success", "message": "ok"}, false},
		{"accepted with an error's status", "Accepted",
			object{"status": "error", "message": "no", "reference": reference}, false},
		{"reference that is no UUID", "Accepted", object{"status": "success", "message": "ok", "reference": "17"},
			false},
		{"error with a reference", "Error", object{"status": "error", "message": "no", "reference": reference}, false},
		{"webhook with a header that is null", "WebhookRequest", object{"event_type": "order_placed",
			"url": "https://pos.example.com/", "headers": object{"X-Token": nil, "X-Shop": "7"}}, true},
		{"invalid with an empty list", "Invalid", object{"status": "error", "message": "no", "errors": []any{}}, false},
		{"secret of another form", "WebhookCreated",
			object{"status": "success", "message": "ok", "webhook_id": 1, "secret": "abc"}, false},
		{"null is not sent", "Store", object{"ref_id": "S-1", "name": nil, "timings": nil}, true},
		{"a closed date", "Store", object{"ref_id": "S-1",
			"special_timings": []any{object{"date": "2026-12-25", "closed": true}}}, true},
		{"hours without a date", "Store", object{"ref_id": "S-1", "special_timings": []any{object{"closed": true}}},
			false},
		{"the reserved ref_id", "Store", object{"ref_id": "-1"}, false},
		{"both platform lists read back", "StoredStore", object{
			"id": 1, "ref_id": "S-1", "name": "n", "city": "c", "hide_from_ui": false, "active": true,
			"ordering_enabled":   true,
			"excluded_platforms": []any{}, "included_platforms": []any{},
		}, false},
		{"menu without an array", "MenuRequest", object{"flush_items": true}, false},
		{"item without a price", "MenuRequest", object{"items": []any{object{"ref_id": "I-1"}}}, false},
		{"food type as a number", "MenuRequest",
			object{"items": []any{object{"ref_id": "I-1", "price": 1, "food_type": 2}}}, true},
		{"tax of an unknown code", "MenuRequest",
			object{"taxes": []any{object{"code": "GST", "structure": object{"value": 5}}}}, false},
		{"page without a location", "MenuReading", object{"items": []any{}}, false},
		{"item without its groups", "MenuReading",
			object{"location_ref_id": "-1", "items": []any{object{"id": 1, "ref_id": "I-1"}}}, false},
		{"event by number", "WebhookRequest", object{"event_type": 18, "url": "https://pos.example.com/"}, true},
		{"unknown event", "WebhookRequest", object{"event_type": "order", "url": "https://pos.example.com/"}, false},
	} {
		err := visit(t, schemas[c.schema].Value, c.value)
		assert.Equal(t, c.right, err == nil, "%s: %v", c.name, err)
	}
}
