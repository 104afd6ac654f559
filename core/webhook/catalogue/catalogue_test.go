package catalogue_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
	"github.com/servery-hub/servery/core/webhook/catalogue"
)

func TestEveryEventTypeIsDescribed(t *testing.T) {
	var types []core.EventType
	for _, entry := range catalogue.All() {
		types = append(types, entry.Type)
		assert.NotEmpty(t, entry.Title, entry.Type)
		assert.Greater(t, len(entry.Description), 100, entry.Type)
		assert.NotContains(t, entry.Description, "\n", "%s: one paragraph", entry.Type)
		if entry.Number != 0 {
			named, known := core.ParseEventType(strconv.Itoa(entry.Number))
			assert.True(t, known)
			assert.Equal(t, entry.Type, named)
		}
		assert.JSONEq(t, string(entry.Schema), string(schemaOf(t, entry.Type)))
	}
	require.Equal(t, core.EventTypes(), types)
	order, _ := catalogue.Lookup(core.OrderPlaced)
	assert.Equal(t, 18, order.Number)
	_, known := catalogue.Lookup("order")
	assert.False(t, known)
	assert.Nil(t, catalogue.Sample("order"))
}

func TestCatalogueReturnsCopies(t *testing.T) {
	first := catalogue.Sample(core.OrderPlaced)
	first[0] = '!'
	assert.Equal(t, byte('{'), catalogue.Sample(core.OrderPlaced)[0])
}

func TestSamplesAreValid(t *testing.T) {
	for _, entry := range catalogue.All() {
		eventtest.Check(t, entry.Type, catalogue.Sample(entry.Type))
	}
}

// visit calls see for each nested schema with its path.
func visit(path string, schema map[string]any, see func(path string, schema map[string]any)) {
	see(path, schema)
	for _, keyword := range []string{"properties", "$defs"} {
		named, _ := schema[keyword].(map[string]any)
		for name, inner := range named {
			visit(path+"/"+keyword+"/"+name, inner.(map[string]any), see)
		}
	}
	for _, keyword := range []string{"items", "additionalProperties"} {
		if inner, ok := schema[keyword].(map[string]any); ok {
			visit(path+"/"+keyword, inner, see)
		}
	}
}

func TestSchemasDescribeEveryFieldAndStayOpen(t *testing.T) {
	for _, entry := range catalogue.All() {
		var schema map[string]any
		require.NoError(t, json.Unmarshal(entry.Schema, &schema))
		assert.Equal(t, "https://json-schema.org/draft/2020-12/schema", schema["$schema"])
		defs, _ := schema["$defs"].(map[string]any)
		visit(string(entry.Type), schema, func(path string, schema map[string]any) {
			properties, _ := schema["properties"].(map[string]any)
			for name, property := range properties {
				described := property.(map[string]any)
				if ref, ok := described["$ref"].(string); ok && described["description"] == nil {
					described = defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
				}
				text, _ := described["description"].(string)
				assert.True(t, strings.HasSuffix(text, "."), "%s: %s has no description", path, name)
			}
			required, _ := schema["required"].([]any)
			for _, name := range required {
				assert.Contains(t, properties, name, path)
			}
			assert.NotEqual(t, false, schema["additionalProperties"], "%s: fields may be added", path)
			if properties != nil {
				assert.Equal(t, "object", schema["type"], path)
			}
		})
	}
}

// replaced returns a copy of a sample with the value at a path replaced. A nil value removes the field.
func replaced(t *testing.T, event core.EventType, path string, value any) []byte {
	t.Helper()
	var root any
	require.NoError(t, json.Unmarshal(catalogue.Sample(event), &root))
	at, steps := root, strings.Split(path, ".")
	for _, step := range steps[:len(steps)-1] {
		if index, err := strconv.Atoi(step); err == nil {
			at = at.([]any)[index]
		} else {
			at = at.(map[string]any)[step]
		}
	}
	last := steps[len(steps)-1]
	if value == nil {
		require.Contains(t, at, last)
		delete(at.(map[string]any), last)
	} else {
		at.(map[string]any)[last] = value
	}
	body, err := json.Marshal(root)
	require.NoError(t, err)
	return body
}

func TestSchemasRejectInvalidEvents(t *testing.T) {
	for _, c := range []struct {
		event core.EventType
		path  string
		value any
	}{
		{core.OrderPlaced, "customer", nil},
		{core.OrderPlaced, "order.details.id", "50012"},
		{core.OrderPlaced, "order.details.order_total", "17.19"},
		{core.OrderPlaced, "order.details.created", 1733154300},
		{core.OrderPlaced, "order.details.order_state", "placed"},
		{core.OrderPlaced, "order.details.ext_platforms.0.delivery_type", "merchant"},
		{core.OrderPlaced, "order.details.taxes.0.value", nil},
		{core.OrderPlaced, "order.details.flags", []any{map[string]any{"path": "items[0].price"}}},
		{core.OrderPlaced, "order.items.0.quantity", 0},
		{core.OrderPlaced, "order.items.0.food_type", 1},
		{core.OrderPlaced, "order.items.0.options_to_add.0.quantity", 1.5},
		{core.OrderPlaced, "order.next_states", []any{"Done"}},
		{core.OrderStatusUpdate, "timestamp", "2024-12-02 15:46:12"},
		{core.OrderStatusUpdate, "timestamp_unix", 1733154372480},
		{core.OrderStatusUpdate, "additional_info.external_channel.order_id", 880142173},
		{core.RiderStatusUpdate, "delivery_info.current_state", "AT_STORE"},
		{core.RiderStatusUpdate, "delivery_info.status_updates.0.created", "now"},
		{core.StoreCreation, "reference", "17"},
		{core.StoreCreation, "stats.errors", -1},
		{core.StoreCreation, "stores.0.upipr_status.id", nil},
		{core.StoreCreation, "stores.0.upipr_status.action", "D"},
		{core.StoreCreation, "stores.0.upipr_status.err_msg", "it failed"},
		{core.StoreCreation, "stores.2.upipr_status.id", 5},
		{core.StoreCreation, "stores.2.upipr_status.err_msg", nil},
		{core.InventoryUpdate, "stats.options", nil},
		{core.InventoryUpdate, "stats.items.deleted", nil},
		{core.InventoryUpdate, "items.0.ref_id", nil},
		{core.InventoryUpdate, "items.1.platform_findings", []any{}},
		{core.InventoryUpdate, "taxes",
			[]any{map[string]any{"ref_id": "T",
				"upipr_status": map[string]any{"action": "A", "id": 1, "error": false}}}},
		{core.StoreAction, "status", "success"},
		{core.ItemStateToggle, "status.0.items.0.status", true},
		{core.OptionStateToggle, "options.0.success", "success"},
		{core.CatalogueTimingGroup, "timing_groups.0.day_slots.0.slots.0.end_time", "24:00:00"},
		{core.HubMenuPublish, "ts_utc", "2024-12-02T12:24:00Z"},
		{core.OrderItemsOOSProcessed, "upipr_order_id", "50012"},
		{core.WebhookRetry, "num_webhooks_retried", nil},
		{core.FeatureAction, "order_id", "50012"},
		{core.FeatureAction, "action", ""},
		{core.StorePlatformStatus, "state", "busy"},
	} {
		assert.Error(t, eventtest.Validate(c.event, replaced(t, c.event, c.path, c.value)), "%s: %s as %v", c.event,
			c.path, c.value)
	}
	assert.NoError(t, eventtest.Validate(core.FeatureAction,
		replaced(t, core.FeatureAction, "platform_order_id", "A-17")))
	for _, event := range core.EventTypes() {
		assert.NoError(t, eventtest.Validate(event, replaced(t, event, "added_later", 1)), "%s: fields may be added",
			event)
	}
}

// schemaOf returns the JSON Schema of the body of an event type.
func schemaOf(t *testing.T, event core.EventType) []byte {
	t.Helper()
	entry, known := catalogue.Lookup(event)
	require.True(t, known)
	return entry.Schema
}

func TestSchemasRequireEveryRequiredField(t *testing.T) {
	for _, event := range core.EventTypes() {
		var sample map[string]any
		require.NoError(t, json.Unmarshal(catalogue.Sample(event), &sample))
		var schema struct{ Required []string }
		require.NoError(t, json.Unmarshal(schemaOf(t, event), &schema))
		for name := range sample {
			err := eventtest.Validate(event, replaced(t, event, name, nil))
			assert.Equal(t, slices.Contains(schema.Required, name), err != nil, "%s: %s", event, name)
		}
	}
}

// sentOnly are the keys of orders that are present only if the channel sent them.
var sentOnly = []string{"display_id", "prepare_for", "cutlery", "line_id", "parent", "items_oos", "items_invalid",
	"location", "charge/rate"}

// Existing receivers reject order events without these keys.
func TestOrderEventsAlwaysHaveEveryKey(t *testing.T) {
	for _, event := range []core.EventType{core.OrderPlaced, core.OrderStatusUpdate, core.OrderReleased,
		core.RiderStatusUpdate} {
		var schema map[string]any
		require.NoError(t, json.Unmarshal(schemaOf(t, event), &schema))
		visit(string(event), schema, func(path string, schema map[string]any) {
			properties, _ := schema["properties"].(map[string]any)
			for name := range properties {
				sent := func(key string) bool { return strings.HasSuffix(path+"/"+name, "/"+key) }
				// flags are added by the hub and optional
				if name != "flags" && !strings.Contains(path, "/flags/") && !slices.ContainsFunc(sentOnly, sent) {
					require.Contains(t, schema["required"], name, path)
				}
			}
		})
	}
}
