// Command deliveroo is an example of a plugin for Deliveroo. It is derived from public documents, and not certified.
package main

import (
	"context"
	"net/http"
	"net/url"
	"time"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type plugin struct{}

func main() { sdk.Serve(plugin{}) }

// The names that plans use.
const (
	api     = "api"
	auth    = "auth"
	partner = "partner"
)

const settingsSchema = `{
  "type": "object",
  "properties": {
    "brand_id": {"type": "string", "minLength": 1, "description": "id of the brand at Deliveroo"},
    "language": {"type": "string", "pattern": "^[a-z]{2}$", "default": "en", "description": "language of the menu"},
    "tablet": {"type": "boolean", "default": false,
      "description": "staff accept orders on Deliveroo's tablet; the hub only reports that it has them"},
    "location_id": {"enum": ["site", "store"], "default": "site",
      "description": "what orders have in location_id: the id of the site, or the merchant's own id of the store"},
    "opening_hours": {"type": "boolean", "default": false, "description": "send opening hours with each menu"}
  },
  "required": ["brand_id"],
  "additionalProperties": false,
  "examples": [{"brand_id": "tasty-gb"},
    {"brand_id": "tasty-fr", "language": "fr", "tablet": true, "location_id": "store", "opening_hours": true}]
}`

type settings struct {
	Brand        string `json:"brand_id"`
	Language     string `json:"language"`
	Tablet       bool   `json:"tablet"`
	Location     string `json:"location_id"`
	OpeningHours bool   `json:"opening_hours"`
}

func settingsOf(call *sdk.Call) (settings, error) {
	s := settings{Language: "en", Location: "site"}
	err := sdk.ReadSettings(call, &s)
	return s, err
}

// brandSettings returns the settings for a path with the brand.
func brandSettings(call *sdk.Call) (settings, error) {
	s, err := settingsOf(call)
	if err == nil && s.Brand == "" {
		err = sdk.Refusef("settings of platform %s: brand_id is required", call.GetPlatform())
	}
	return s, err
}

// The actions.
const (
	confirmOrder = "confirm_order"
	inKitchen    = "in_kitchen"
)

const kitchenSchema = `{
  "type": "object",
  "properties": {"delay_minutes": {"enum": [0, 2, 4, 6, 8, 10], "description": "additional preparation time"}},
  "additionalProperties": false,
  "examples": [{}, {"delay_minutes": 4}]
}`

// Describe returns the plugin's description, which must match plugin.yaml.
func (plugin) Describe(context.Context) (*sdk.Description, error) {
	return &sdk.Description{
		Id: "deliveroo", Version: "0.1.0", DisplayName: "Deliveroo (example, not certified)",
		SettingsSchema: []byte(settingsSchema),
		Actions: []*pb.ActionOffer{
			{Name: confirmOrder, Title: "Confirm the scheduled order"},
			{Name: inKitchen, Title: "The kitchen has started", ParametersSchema: []byte(kitchenSchema)},
		},
		Endpoints: []*pb.Endpoint{
			{Name: api, Description: "the Partner Platform API",
				Hosts: []string{"api.developers.deliveroo.com", "api-sandbox.developers.deliveroo.com", "127.0.0.1"}},
			{Name: auth, Description: "the server for access tokens",
				Hosts: []string{"auth.developers.deliveroo.com", "auth-sandbox.developers.deliveroo.com",
					"127.0.0.1"}}},
		Secrets: []*pb.Secret{{Name: "client_id", Description: "client id of the API"},
			{Name: "client_secret", Description: "client secret of the API"},
			{Name: "webhook_secret", Description: "secret by which Deliveroo signs its webhooks"}},
		Credentials: []*sdk.Credential{
			sdk.ClientCredentials(partner, auth, "/oauth2/token", "client_id", "client_secret")},
		Inbound: []*pb.Inbound{{Kind: "events", Purpose: pb.InboundPurpose_INBOUND_PURPOSE_MIXED,
			Scheme: pb.InboundScheme_INBOUND_SCHEME_HMAC_SHA256, Header: "x-deliveroo-hmac-sha256",
			Secret: "webhook_secret", SignedText: "{header.x-deliveroo-sequence-guid} {body}",
			OrderId: "/body/order/id",
			Shared: &pb.SharedInbound{StoreId: []string{"/body/order/location_id",
				"/body/menu_upload_result/site_ids/0"}}}},
		Limits: &pb.Limits{MemoryMb: 128, InFlight: 8},
	}, nil
}

// send plans a request with a JSON body.
func send(method, path string, body any) (*sdk.Decision, error) {
	plan := sdk.JSONPlan(method, api, path, body)
	plan.Credentials = []string{partner}
	plan.Success = &sdk.SuccessRule{FinalStatuses: []int32{400, 403, 404, 409, 422}}
	return sdk.Send(plan)
}

// sitePath returns the path of a site below an API, such as /site/v1.
func sitePath(prefix string, s settings, site string) string {
	return prefix + "/brands/" + url.PathEscape(s.Brand) + "/sites/" + url.PathEscape(site)
}

func orderPath(order *sdk.Order) string {
	return "/order/v1/orders/" + url.PathEscape(order.GetPlatformOrderId())
}

// timeOf returns a time of the hub as Deliveroo writes it.
func timeOf(milliseconds int64) string {
	return time.UnixMilli(milliseconds).UTC().Format(time.RFC3339)
}

// outcomeOf interprets a response by its status.
func outcomeOf(response *sdk.Response) *sdk.PublishOutcome {
	success, again := sdk.ClassifyStatus(response.GetStatus())
	switch {
	case success:
		return &sdk.PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE}
	case again:
		return &sdk.PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_RETRY}
	}
	return &sdk.PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_FAILED,
		Message: "Deliveroo responded with " + http.StatusText(int(response.GetStatus()))}
}
