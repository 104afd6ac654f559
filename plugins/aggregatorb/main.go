// Command aggregatorb is the plugin of aggregator B: Additional Info of items, menus with nutrition as text, orders
// and riders. README.md describes the aggregator's formats.
package main

import (
	"context"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type plugin struct{}

func main() { sdk.Serve(plugin{}) }

const (
	catalogue = "catalogue_api"
	delivery  = "delivery_api"
	token     = "access_token"
	callback  = "callback_token"

	cancellation = "cancellation" // kind of an inbound request
)

const settingsSchema = `{
  "type": "object",
  "properties": {
    "merchant_id": {"type": "string", "minLength": 1, "maxLength": 64,` +
	` "description": "the merchant's number at the aggregator"},
    "nutrition_in_description": {"type": "boolean",` +
	` "description": "false leaves nutritional values out of the descriptions"}
  },
  "additionalProperties": false,
  "examples": [{}, {"merchant_id": "M-1044"}]
}`

type settings struct {
	MerchantID string `json:"merchant_id"`
	Nutrition  *bool  `json:"nutrition_in_description"`
}

// quantityUnits are the units of a quantity that the API specification lists.
var quantityUnits = []string{"kg", "ounces", "pounds", "pieces", "scoop", "litre", "ml", "gram", "inches", "slices"}

// Describe returns the plugin's description.
func (plugin) Describe(context.Context) (*sdk.Description, error) {
	hosts := []string{"*.aggregator-b.example", "127.0.0.1", "localhost"}
	return &sdk.Description{
		Id: "aggregator-b", Version: "1.0.0", DisplayName: "Aggregator B",
		Vocabulary: []*pb.VocabularyGroup{sdk.NutritionalInfo(),
			{Group: additionalInfo, OnItem: true, Keys: []*pb.VocabularyKey{
				{Name: "accompaniments", Rule: pb.ValueRule_VALUE_RULE_WHOLE_NUMBER},
				{Name: "quantity", Rule: pb.ValueRule_VALUE_RULE_WHOLE_NUMBER},
				{Name: "quantity_unit", Rule: pb.ValueRule_VALUE_RULE_ONE_OF, Allowed: quantityUnits},
			}}},
		SettingsSchema: []byte(settingsSchema),
		Endpoints: []*pb.Endpoint{
			{Name: catalogue, Description: "menus and orders", Hosts: hosts},
			{Name: delivery, Description: "riders", Hosts: hosts},
		},
		Secrets: []*pb.Secret{
			{Name: token, Description: "bearer token of both endpoints"},
			{Name: callback, Description: "bearer token of what the aggregator sends"},
		},
		Inbound: []*pb.Inbound{
			{Kind: "order", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_ORDER,
				Scheme: pb.InboundScheme_INBOUND_SCHEME_BEARER, Header: "authorization", Secret: callback,
				OrderId: "/orderId"},
			{Kind: cancellation, Purpose: pb.InboundPurpose_INBOUND_PURPOSE_ORDER,
				Scheme: pb.InboundScheme_INBOUND_SCHEME_BEARER, Header: "authorization", Secret: callback},
		},
		Limits: &pb.Limits{MemoryMb: 256, InFlight: 16},
	}, nil
}

// send returns the decision to call one of B's endpoints.
func send(call *sdk.Call, endpoint, method, path string, body any) (*sdk.Decision, error) {
	plan := sdk.JSONPlan(method, endpoint, path, body)
	plan.Headers["X-Request-Id"] = call.GetIdempotencyKey()
	plan.SecretHeaders = []*sdk.SecretHeader{{Header: "Authorization", Secret: token, Template: "Bearer {secret}"}}
	plan.Success = &sdk.SuccessRule{FinalStatuses: sdk.FinalStatuses()}
	return sdk.Send(plan)
}
