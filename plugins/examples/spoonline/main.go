// Command spoonline is the plugin of Spoonline, an invented aggregator: an example of a plugin outside of the hub's
// module.
package main

import (
	"context"
	"encoding/xml"
	"net/url"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type plugin struct{}

func main() { sdk.Serve(plugin{}) }

// The names that plans use.
const (
	api     = "api"
	partner = "partner"
)

const settingsSchema = `{
  "type": "object",
  "properties": {"delimiter": {"enum": [";", ","], "description": "delimiter of the menu file"}},
  "additionalProperties": false,
  "examples": [{}, {"delimiter": ","}]
}`

type settings struct {
	Delimiter string `json:"delimiter"`
}

// The actions. Spoonline sends their outcomes later.
const (
	delayOrder = "delay_order"
	callRider  = "call_rider"
)

const delaySchema = `{
  "type": "object",
  "properties": {"minutes": {"type": "integer", "minimum": 1, "maximum": 60, "description": "how much later"}},
  "required": ["minutes"],
  "additionalProperties": false,
  "examples": [{"minutes": 10}]
}`

const callSchema = `{
  "type": "object",
  "properties": {"reason": {"enum": ["late", "lost", "wrong_bag"], "description": "why the rider is called"}},
  "required": ["reason"],
  "additionalProperties": false,
  "examples": [{"reason": "late"}]
}`

// Describe returns the plugin's description, which must match plugin.yaml.
func (plugin) Describe(context.Context) (*sdk.Description, error) {
	return &sdk.Description{
		Id: "spoonline", Version: "0.1.0", DisplayName: "Spoonline",
		SettingsSchema: []byte(settingsSchema),
		Actions: []*pb.ActionOffer{
			{Name: delayOrder, Title: "Delay the order", ByCallback: true, SendsEvent: true,
				ParametersSchema: []byte(delaySchema)},
			{Name: callRider, Title: "Call the rider", ByCallback: true, SendsEvent: true,
				ParametersSchema: []byte(callSchema)},
		},
		Endpoints: []*pb.Endpoint{{Name: api, Description: "the API of Spoonline",
			Hosts: []string{"api.spoonline.example"}}},
		Secrets: []*pb.Secret{{Name: "client_id", Description: "client id of the API"},
			{Name: "client_secret", Description: "client secret of the API"},
			{Name: "signing_key", Description: "key by which Spoonline signs its messages"}},
		Credentials: []*sdk.Credential{
			sdk.ClientCredentials(partner, api, "/oauth/token", "client_id", "client_secret")},
		Inbound: []*pb.Inbound{{Kind: "events", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_MIXED,
			Scheme: pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA1, Header: "x-spoonline-signature", Secret: "signing_key",
			TimestampHeader: "x-spoonline-time", SignedText: "{timestamp}\n{body}", OrderId: "/order/@id"}},
		Limits: &pb.Limits{MemoryMb: 128, InFlight: 8},
	}, nil
}

// sendXML plans a request with an XML body.
func sendXML(method, path string, value any) (*sdk.Decision, error) {
	body, err := xml.Marshal(value)
	if err != nil {
		return nil, err
	}
	return sdk.Send(&sdk.Plan{Endpoint: api, Method: method, Path: path, Body: body, Credentials: []string{partner},
		Headers: map[string]string{"Content-Type": "application/xml"},
		Success: &sdk.SuccessRule{FinalStatuses: []int32{400, 403, 404, 409, 422}}})
}

func orderPath(order *sdk.Order) string {
	return "/orders/" + url.PathEscape(order.GetPlatformOrderId())
}
