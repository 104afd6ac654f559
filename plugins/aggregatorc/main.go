// Command aggregatorc is the plugin of aggregator C: nutritional values of items, and menus and orders with amounts
// in minor units. README.md describes the aggregator's formats.
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
	gateway   = "gateway"
	appKey    = "app_key"
	shopToken = "shop_token"
)

const settingsSchema = `{
  "type": "object",
  "properties": {
    "nutrition": {"enum": ["if_present", "required"], "description": "whether every item needs NutritionalInfo,` +
	` or only what is there must be complete"},
    "minor_digits": {"type": "integer", "minimum": 0, "maximum": 3,` +
	` "description": "digits after the point of the currency: not needed,` +
	` and refused where the business's currency has others"}
  },
  "additionalProperties": false,
  "examples": [{}, {"nutrition": "required"}, {"minor_digits": 2}]
}`

type settings struct {
	Nutrition   string `json:"nutrition"`
	MinorDigits *int   `json:"minor_digits"`
}

func settingsOf(call *sdk.Call) (s settings, err error) {
	err = sdk.ReadSettings(call, &s)
	return s, err
}

// Configure checks new settings against the business's currency. With a wrong number of digits, amounts would be off
// by a factor of ten or more.
func (plugin) Configure(_ context.Context, call *sdk.Call) ([]*sdk.Problem, error) {
	s, err := settingsOf(call)
	if err != nil {
		return nil, err
	}
	if digits, known := sdk.MinorDigits(call.GetCurrency()); known && s.MinorDigits != nil && *s.MinorDigits != digits {
		return []*sdk.Problem{{Path: "minor_digits",
			Message: fmt.Sprintf("is %d, and %s has %d digits after the point", *s.MinorDigits, call.GetCurrency(),
				digits)}}, nil
	}
	return nil, nil
}

// minorDigits returns the digits after the decimal point of a call's amounts. A number in the settings takes
// precedence, because the shop's account at the aggregator uses it.
func minorDigits(call *sdk.Call) (int, error) {
	s, err := settingsOf(call)
	digits, _ := sdk.MinorDigits(call.GetCurrency())
	if s.MinorDigits != nil {
		digits = *s.MinorDigits
	}
	return digits, err
}

// Describe returns the plugin's description.
func (plugin) Describe(context.Context) (*sdk.Description, error) {
	return &sdk.Description{
		Id: "aggregator-c", Version: "1.0.0", DisplayName: "Aggregator C",
		Vocabulary:     []*pb.VocabularyGroup{sdk.NutritionalInfo()},
		SettingsSchema: []byte(settingsSchema),
		Endpoints: []*pb.Endpoint{{Name: gateway, Description: "the gateway, for everything",
			Hosts: []string{"*.aggregator-c.example", "127.0.0.1", "localhost"}}},
		Secrets: []*pb.Secret{
			{Name: appKey, Description: "key of the gateway"},
			{Name: shopToken, Description: "carried by what the aggregator sends"},
		},
		Inbound: []*pb.Inbound{{Kind: "message", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_ORDER,
			Scheme: pb.InboundScheme_INBOUND_SCHEME_EQUALS, Header: "x-shop-token", Secret: shopToken,
			OrderId: "/data/no"}},
		Limits: &pb.Limits{MemoryMb: 256, InFlight: 16},
	}, nil
}

// send returns the decision to call the gateway. It responds with 200 to everything, and the code in the body
// indicates success.
func send(call *sdk.Call, path string, body any) (*sdk.Decision, error) {
	plan := sdk.JSONPlan("POST", gateway, path, body)
	plan.Query = map[string]string{"nonce": call.GetIdempotencyKey()}
	plan.SecretHeaders = []*sdk.SecretHeader{{Header: "X-App-Key", Secret: appKey, Template: "{secret}"}}
	plan.Success = &sdk.SuccessRule{JsonPointer: "/code", JsonEquals: "0", FinalStatuses: sdk.FinalStatuses()}
	return sdk.Send(plan)
}
