package cause

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/console"
)

func TestRejectionSuggestsARemedy(t *testing.T) {
	about := console.PluginAbout{Secrets: []console.PluginSecret{{Name: "api_key"}, {Name: "webhook_secret"}},
		Inbound:   []console.PluginInbound{{Kind: "orders", Secret: "webhook_secret"}, {Kind: "stock"}},
		Endpoints: []console.PluginEndpoint{{Name: "api"}}}
	for message, want := range map[string]string{
		"the aggregator responded with 401 Unauthorized": "Ask the support of the platform for the " +
			"right value of the secret api_key, the hub's login there. Then enter it in the platform settings of " +
			"this console: the hub then publishes the menus automatically.",
		"unknown partner key": "Ask the support of the platform for the " +
			"right value of the secret api_key, the hub's login there. Then enter it in the platform settings of " +
			"this console: the hub then publishes the menus automatically.",
		"the server name api.example.com was not found on the public internet": "Ask the support of the platform for " +
			"the right value of the URL api. Then enter it in the platform settings of this console: the hub then " +
			"publishes the menus automatically.",
		`the platform has no URL for the endpoint "api" of its plugin`: "Ask the support of the platform for the " +
			"right value of the URL api. Then enter it in the platform settings of this console: the hub then " +
			"publishes the menus automatically.",
		"the aggregator responded with 503 Service Unavailable": "",
		"products[0].categories must be an array":               "",
		`the category "mains" does not exist`:                   "",
	} {
		require.Equal(t, want, SettingsRemedy(about, message), message)
	}
	require.Empty(t, SettingsRemedy(console.PluginAbout{}, "unknown partner key"))
	shared := console.PluginAbout{Secrets: []console.PluginSecret{{Name: "token"}},
		Inbound: []console.PluginInbound{{Kind: "orders", Secret: "token"}}}
	require.Contains(t, SettingsRemedy(shared, "unknown partner key"), "the secret token")
	cause := RejectedMenus(console.RejectedMenus{Platform: "tasty", Count: 12, Message: "unknown partner key"},
		&console.Plugin{About: about}, time.UTC)
	require.Contains(t, cause.Text, "tasty has not accepted the latest menu of 12 stores: unknown partner key")
	require.Contains(t, cause.Detail, "the secret api_key")
	for message, want := range map[string]string{"": "ask its support what to correct",
		"the aggregator responded with 422: no photo": "ask its support what to correct",
		"the aggregator responded with 429: slower":   "Nothing is wrong with the menu: tasty could not process it.",
		"the aggregator responded with 500":           "Use Publish now",
	} {
		rejected := console.RejectedMenus{Platform: "tasty", Message: message}
		require.Contains(t, RejectedMenus(rejected, &console.Plugin{About: about}, time.UTC).Detail, want, message)
	}
}

func TestStatusOfAPlatformIsExplained(t *testing.T) {
	for message, want := range map[string]string{
		"the aggregator responded with 401: unknown key": "tasty rejected the login (401: unknown key)",
		"the aggregator responded with 422":              "tasty rejected the menu (422)",
		"the aggregator responded with 503 Service Unavailable": "tasty cannot accept it now (503 Service " +
			"Unavailable)",
		"the aggregator responded with 429: slower":     "tasty received too many requests (429: slower)",
		"the aggregator responded with 400 Bad Request": "tasty responded with error 400 Bad Request",
		"plugin aggregator-a is not running":            "its plugin aggregator-a is not running",
		"photo required":                                "photo required",
	} {
		require.Equal(t, want, menuMessage("tasty", message, time.UTC))
	}
	require.Equal(t, "tasty rejected the content (422: no outlet 17)",
		PlatformMessage("tasty", "the aggregator responded with 422: no outlet 17", time.UTC))
	for message, want := range map[string]string{
		"the aggregator responded with 422: no outlet 17": "content rejected (422: no outlet 17)",
		"the aggregator responded with 418 I'm a teapot":  "418 I'm a teapot",
		"photo required": "photo required",
	} {
		require.Equal(t, "tasty has not accepted the latest menu of 1 store: "+want,
			RejectedMenus(console.RejectedMenus{Platform: "tasty", Count: 1, Message: message}, nil, time.UTC).Text)
	}
}
