package aggregator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

func TestPlanHasWhatItsPluginDeclares(t *testing.T) {
	partner := sdk.ClientCredentials("partner", "auth", "/token", "id", "secret")
	partner.GetOauth2().Authentication = pb.ClientAuthentication_CLIENT_AUTHENTICATION_BODY
	partner.GetOauth2().Scope, partner.GetOauth2().Parameters = "orders", map[string]string{"audience": "a"}
	other := sdk.ClientCredentials("other", "", "", "id", "secret")
	other.GetOauth2().TokenUrl = "https://auth.example/token"
	signed := sdk.Signed("signed", "X-Signature", "secret", "{body}")
	signed.GetSignature().TimestampFormat = pb.TimestampFormat_TIMESTAMP_FORMAT_RFC3339
	about := &sdk.Description{Credentials: []*sdk.Credential{partner, other, signed,
		sdk.Signed("unused", "X", "secret", "{path}")},
		Endpoints: []*pb.Endpoint{
			{Name: "api", Hosts: []string{"api.example"}, Certificate: "chain", CertificateKey: "key",
				RateLimit: &pb.RateLimit{Requests: 5, Burst: 2,
					Scope: pb.RateScope_RATE_SCOPE_ORDER}},
			{Name: "auth", Hosts: []string{"auth.example"}, Certificate: "other_chain", CertificateKey: "other_key"},
		}}
	plan, err := planOf(about, &sdk.Plan{Endpoint: "api", Credentials: []string{"signed", "other", "partner"}})
	require.NoError(t, err)
	require.Equal(t, relay.Certificate{Chain: "chain", Key: "key"}, plan.Certificate)
	require.Equal(t, relay.RateLimit{Requests: 5, Period: time.Second, Burst: 2,
		Scope: relay.RatePerOrder}, plan.RateLimit)
	require.Len(t, plan.Credentials, 3)
	require.Equal(t, &relay.OAuth2{Endpoint: "auth", Hosts: []string{"auth.example"}, Path: "/token",
		Certificate: relay.Certificate{Chain: "other_chain", Key: "other_key"}, ClientID: "id", ClientSecret: "secret",
		InBody: true, Scope: "orders", Parameters: map[string]string{"audience": "a"}, Header: "Authorization",
		Template: "Bearer {token}"}, plan.Credentials[0].OAuth2)
	require.Equal(t, []string{"api.example", "auth.example"}, plan.Credentials[1].OAuth2.Hosts)
	require.Equal(t, "https://auth.example/token", plan.Credentials[1].OAuth2.TokenURL)
	require.Equal(t, relay.RFC3339, plan.Credentials[2].Signature.Timestamp)
	require.Equal(t, "{signature}", plan.Credentials[2].Signature.Value)
}

func TestPlanWithAnUndeclaredNameFails(t *testing.T) {
	about := &sdk.Description{Endpoints: []*pb.Endpoint{{Name: "api", Hosts: []string{"api.example"}}}}
	for says, plan := range map[string]*sdk.Plan{
		`endpoint "former"`: {Endpoint: "former"}, `credential "former"`: {Endpoint: "api",
			Credentials: []string{"former"}},
		`endpoint "later"`: sdk.Steps(sdk.GetStep("first", "api", "/"), sdk.GetStep("second", "later", "/")),
	} {
		_, err := planOf(about, plan)
		require.ErrorContains(t, err, says)
		require.Equal(t, core.Internal, core.CodeOf(err))
	}
}

func TestSecretOfAStoreNeedsADeclaration(t *testing.T) {
	about := &sdk.Description{Id: "tasty", Secrets: []*pb.Secret{{Name: "key"}, {Name: "token", PerStore: true}}}
	require.NoError(t, CheckSecretName(about, "key"))
	require.NoError(t, CheckSecretName(about, "token@store@1"))
	for _, name := range []string{"key@s1", "none", "none@s1", "@s1", ""} {
		require.Equal(t, core.Invalid, core.CodeOf(CheckSecretName(about, name)), name)
	}
	require.Equal(t, []string{"secret key", "secret token"}, missing(&relay.Access{}, about))
	require.Equal(t, []string{"secret key"}, missing(&relay.Access{Secrets: map[string]string{"token@s1": "x"}}, about))
}
