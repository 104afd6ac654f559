// Command aggregatorc is the rule set of aggregator C: nutritional values of
// items, menus and orders with amounts in minor units. README.md describes its
// formats.
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
	gatewayID = "app_key"
	shopToken = "shop_token"
)

const settingsSchema = `{
  "type": "object",
  "properties": {
    "nutrition": {"enum": ["if_present", "required"], "description": "whether every item needs NutritionalInfo, or only what is there must be complete"},
    "minor_digits": {"type": "integer", "minimum": 0, "maximum": 3, "description": "digits after the point of the currency: not needed, and refused where the business's currency has others"}
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

// digits are those after the point of a currency, and what is wrong with the
// settings where they say others: every amount would be ten or a hundred times what
// it is. Only where no currency is told do they decide.
func (s settings) digits(currency string) (digits int, wrong string) {
	digits, told := sdk.MinorDigits(currency)
	switch {
	case s.MinorDigits == nil || *s.MinorDigits == digits:
		return digits, ""
	case told:
		return digits, fmt.Sprintf("is %d, and %s has %d digits after the point", *s.MinorDigits, currency, digits)
	}
	return *s.MinorDigits, ""
}

// Configure holds the settings against the business's currency.
func (plugin) Configure(_ context.Context, call *sdk.Call) ([]*sdk.Problem, error) {
	s, err := settingsOf(call)
	if err != nil {
		return nil, err
	}
	if _, wrong := s.digits(call.GetCurrency()); wrong != "" {
		return []*sdk.Problem{{Path: "minor_digits", Message: wrong}}, nil
	}
	return nil, nil
}

// minorDigits are the digits of the amounts of a call.
func minorDigits(call *sdk.Call) (int, error) {
	s, err := settingsOf(call)
	if err != nil {
		return 0, err
	}
	digits, wrong := s.digits(call.GetCurrency())
	if wrong != "" {
		return 0, sdk.Refusef("settings of platform %s: minor_digits %s", call.GetPlatform(), wrong)
	}
	return digits, nil
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
