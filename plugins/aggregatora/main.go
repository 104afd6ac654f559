// Command aggregatora is the plugin of aggregator A: nutritional values of items, menus, orders and feature actions.
// README.md describes the aggregator's formats.
package main

import (
	"context"
	"fmt"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type plugin struct{}

func main() { sdk.Serve(plugin{}) }

const (
	api    = "partner_api"
	apiKey = "api_key"
)

const settingsSchema = `{
  "type": "object",
  "properties": {
    "nutrition": {"enum": ["if_present", "required"], "description": "whether every item needs NutritionalInfo,` +
	` or only what is there must be complete"},
    "brand": {"type": "string", "minLength": 1, "maxLength": 64,` +
	` "description": "the merchant's brand at the aggregator"}
  },
  "additionalProperties": false,
  "examples": [{}, {"nutrition": "required", "brand": "harbour-kitchen"}]
}`

type settings struct {
	Nutrition string `json:"nutrition"`
	Brand     string `json:"brand"`
}

// Describe returns the plugin's description.
func (plugin) Describe(context.Context) (*sdk.Description, error) {
	return &sdk.Description{
		Id: "aggregator-a", Version: "1.0.0", DisplayName: "Aggregator A",
		Vocabulary: []*pb.VocabularyGroup{sdk.NutritionalInfo()},
		Actions: []*pb.ActionOffer{
			{Name: bodyTemp, Title: "Rider's body temperature", ParametersSchema: parameters("temp",
				`{"type": "number", "minimum": 80, "maximum": 115, "description": "in degrees Fahrenheit"}`, "98.6")},
			{Name: withMask, Title: "Rider wears a mask", ParametersSchema: parameters("wearing_mask",
				`{"type": "boolean", "description": "whether the rider wears a mask"}`, "true")},
			{Name: additionalRider, Title: "Ask for an additional rider", ParametersSchema: parameters("", "", "")},
			{Name: customerData, Title: "Ask for the customer's masked contact", ByCallback: true, SendsEvent: true,
				ParametersSchema: parameters("", "", "")},
		},
		SettingsSchema: []byte(settingsSchema),
		Endpoints: []*pb.Endpoint{{Name: api, Description: "the partner API",
			Hosts: []string{"*.aggregator-a.example", "127.0.0.1", "localhost"}}},
		Secrets: []*pb.Secret{
			{Name: apiKey, Description: "key of the partner API"},
			{Name: "webhook_secret", Description: "signs what the aggregator sends"},
		},
		Inbound: []*pb.Inbound{
			{Kind: "orders", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_ORDER,
				Scheme: pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256, Header: "x-signature", Secret: "webhook_secret",
				OrderId: "/order/id"},
			{Kind: "customer-data", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_ACTION,
				Scheme: pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256, Header: "x-signature", Secret: "webhook_secret"},
		},
		Limits: &pb.Limits{MemoryMb: 256, InFlight: 16},
	}, nil
}

// parameters returns the schema of an action of the API specification: the rider's phone, and one required value with
// an example.
func parameters(name, schema, example string) []byte {
	const phone = `"phone": {"type": "string", "pattern": "^[0-9]{10}$",` +
		` "description": "10 digits of the rider, for self-delivery orders"}`
	if name == "" {
		return []byte(`{"type": "object", "properties": {` + phone + `}, "additionalProperties": false,` +
			` "examples": [{}, {"phone": "4155550177"}]}`)
	}
	return fmt.Appendf(nil, `{"type": "object", "properties": {%q: %s, %s}, "required": [%q],`+
		` "additionalProperties": false, "examples": [{%q: %s}, {%q: %s, "phone": "4155550177"}]}`,
		name, schema, phone, name, name, example, name, example)
}

// send returns the decision to call the partner API.
func send(call *sdk.Call, method, path string, body any) (*sdk.Decision, error) {
	plan := sdk.JSONPlan(method, api, path, body)
	plan.Headers["Idempotency-Key"] = call.GetIdempotencyKey()
	plan.SecretHeaders = []*sdk.SecretHeader{{Header: "X-Partner-Key", Secret: apiKey, Template: "{secret}"}}
	plan.Success = &sdk.SuccessRule{FinalStatuses: sdk.FinalStatuses()}
	return sdk.Send(plan)
}
