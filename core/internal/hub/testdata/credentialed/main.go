// Command credentialed is a plugin of an aggregator whose API needs credentials. Its settings choose the endpoint and
// the credentials of a call.
package main

import (
	"context"
	"fmt"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type plugin struct{}

func main() { sdk.Serve(plugin{}) }

type settings struct {
	Endpoint    string   `json:"endpoint"`
	Credentials []string `json:"credentials"`
}

// Describe returns the plugin's description.
func (plugin) Describe(context.Context) (*sdk.Description, error) {
	hosts := []string{"127.0.0.1"}
	renewed := sdk.ClientCredentials("renewed", "api", "/oauth/token", "client_id", "client_secret")
	renewed.GetOauth2().Grant = pb.TokenGrant_TOKEN_GRANT_REFRESH_TOKEN
	renewed.GetOauth2().RefreshToken = "refresh_token"
	merchant := sdk.ClientCredentials("merchant", "api", "/oauth/token", "client_id", "client_secret")
	merchant.GetOauth2().Grant = pb.TokenGrant_TOKEN_GRANT_REFRESH_TOKEN
	merchant.GetOauth2().RefreshToken = "login_token"
	merchant.GetOauth2().Scope = "stores menus"
	merchant.GetOauth2().AuthorizeUrl = "https://127.0.0.1/oauth/authorize"
	merchant.GetOauth2().AuthorizeParameters = map[string]string{"access_type": "offline"}
	signed := sdk.Signed("signed", "X-Signature", "signing_key", "{method}\n{path}?{query}\n{timestamp}\n{body}")
	signed.GetSignature().TimestampHeader = "X-Timestamp"
	signed.GetSignature().Value = "v1={signature}"
	return &sdk.Description{
		Id: "credentialed", Version: "1.0.0", DisplayName: "Aggregator with credentials",
		SettingsSchema: []byte(`{"type":"object","properties":{"endpoint":{"type":"string"},` +
			`"credentials":{"type":"array","items":{"type":"string"}}},"examples":[{}]}`),
		Endpoints: []*pb.Endpoint{
			{Name: "api", Description: "the API", Hosts: hosts},
			{Name: "slow", Description: "the same, with a limit", Hosts: hosts,
				RateLimit: &pb.RateLimit{Requests: 1, PeriodSeconds: 10, Burst: 2}},
			{Name: "per_order", Description: "the same, with a limit for each order", Hosts: hosts,
				RateLimit: &pb.RateLimit{Requests: 1, PeriodSeconds: 10, Scope: pb.RateScope_RATE_SCOPE_ORDER}},
			{Name: "certified", Description: "the same, with a client certificate", Hosts: hosts,
				Certificate: "certificate", CertificateKey: "certificate_key"},
		},
		Secrets: []*pb.Secret{{Name: "certificate"}, {Name: "certificate_key"}, {Name: "client_id"},
			{Name: "client_secret", PerStore: true}, {Name: "refresh_token"},
			{Name: "signing_key"}, {Name: "login_token"}},
		Credentials: []*sdk.Credential{
			sdk.ClientCredentials("partner", "api", "/oauth/token", "client_id", "client_secret"), renewed, signed,
			merchant},
	}, nil
}

// PlanRiderStatus plans a request with the credentials of the settings.
func (plugin) PlanRiderStatus(_ context.Context, r *pb.RiderStatusRequest) (*sdk.Decision, error) {
	s := settings{Endpoint: "api"}
	if err := sdk.ReadSettings(r.GetCall(), &s); err != nil {
		return nil, err
	}
	plan := sdk.JSONPlan("POST", s.Endpoint, fmt.Sprintf("/riders/%d", r.GetOrder().GetOrderId()),
		map[string]string{"status": r.GetStatus()})
	plan.Query = map[string]string{"of": "a store"}
	plan.Credentials = s.Credentials
	plan.Success = &sdk.SuccessRule{FinalStatuses: sdk.FinalStatuses()}
	return sdk.Send(plan)
}
