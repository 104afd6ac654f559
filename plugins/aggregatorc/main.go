// Command aggregatorc is the rule set of aggregator C: nutritional values of
// items, menus and orders with amounts in minor units. README.md describes its
// formats.
package main

import (
	"context"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type plugin struct{}

func main() { sdk.Serve(plugin{}) }

const (
	gateway   = "gateway"
	gatewayID = "app_key"
	shopToken = "shop_token"
)

const settingsSchema = `{
  "type": "object",
  "properties": {
    "nutrition": {"enum": ["if_present", "required"], "description": "whether every item needs NutritionalInfo, or only what is there must be complete"},
    "minor_digits": {"type": "integer", "minimum": 0, "maximum": 3, "description": "digits after the point of the currency; 2 unless set"}
  },
  "additionalProperties": false,
  "examples": [{}, {"nutrition": "required"}, {"minor_digits": 0}]
}`

type settings struct {
	Nutrition   string `json:"nutrition"`
	MinorDigits int    `json:"minor_digits"`
}

func settingsOf(call *sdk.Call) (settings, error) {
	s := settings{MinorDigits: 2}
	return s, sdk.ReadSettings(call, &s)
}

// Describe says what the plugin is.
func (plugin) Describe(context.Context) (*sdk.Description, error) {
	return &sdk.Description{
		Id: "aggregator-c", Version: "1.0.0", DisplayName: "Aggregator C",
		Vocabulary:     []*pb.VocabularyGroup{sdk.NutritionalInfo()},
		SettingsSchema: []byte(settingsSchema),
		Endpoints: []*pb.Endpoint{{Name: gateway, Description: "the gateway, for everything",
			Hosts: []string{"*.aggregator-c.example", "127.0.0.1", "localhost"}}},
		Secrets: []*pb.Secret{
			{Name: gatewayID, Description: "key of the gateway"},
			{Name: shopToken, Description: "carried by what the aggregator sends"},
		},
		Inbound: []*pb.Inbound{{Kind: "message", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_ORDER,
			Scheme: pb.InboundScheme_INBOUND_SCHEME_EQUALS, Header: "x-shop-token", Secret: shopToken}},
		Limits: &pb.Limits{MemoryMb: 256, InFlight: 16},
	}, nil
}

// send is the decision to call the gateway. It answers 200 to everything; its
// code tells success.
func send(call *sdk.Call, path string, body any) (*sdk.Decision, error) {
	plan := sdk.JSONPlan("POST", gateway, path, body)
	plan.Query = map[string]string{"nonce": call.GetIdempotencyKey()}
	plan.SecretHeaders = []*sdk.SecretHeader{{Header: "X-App-Key", Secret: gatewayID, Template: "{secret}"}}
	plan.Success = &sdk.SuccessRule{JsonPointer: "/code", JsonEquals: "0", FinalStatuses: sdk.FinalStatuses()}
	return sdk.Send(plan)
}
