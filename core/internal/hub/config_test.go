package hub

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/access/oidc"
	"github.com/servery-hub/servery/core/inbound"
)

func TestConnectionsAreChecked(t *testing.T) {
	fine := Connections{HeaderTimeout: time.Second, IdleTimeout: time.Second,
		Limits: inbound.Config{PerAddress: 1, MinRate: 1, Stall: time.Second}}
	require.Empty(t, fine.validate(1024))
	for message, spoil := range map[string]func(*Connections){
		"SERVERY_MAX_CONNECTIONS: must be 0 or from 16 to 768": func(c *Connections) { c.Limits.Max = 769 },
		"SERVERY_MAX_CONNECTIONS: must be 0":                   func(c *Connections) { c.Limits.Max = 15 },
		"SERVERY_MAX_CONNECTIONS_PER_ADDRESS: must be":         func(c *Connections) { c.Limits.PerAddress = 0 },
		"SERVERY_HEADER_TIMEOUT: must be":                      func(c *Connections) { c.HeaderTimeout = 0 },
		"SERVERY_STALL_TIMEOUT: must be":                       func(c *Connections) { c.Limits.Stall = 2 * time.Hour },
		"SERVERY_IDLE_TIMEOUT: must be": func(
			c *Connections) {
			c.IdleTimeout = time.Millisecond
		},
		"SERVERY_MIN_RATE: must be": func(c *Connections) { c.Limits.MinRate = 0 },
	} {
		spoiled := fine
		spoil(&spoiled)
		mistakes := spoiled.validate(1024)
		require.Len(t, mistakes, 1, message)
		require.ErrorContains(t, mistakes[0], message)
	}
}

func TestDefaultConnectionLimitsFitOpenFiles(t *testing.T) {
	limits := Defaults().Connections.limits(nil)
	require.Equal(t, min(2048, inbound.OpenFiles()/2), limits.Max)
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	require.Equal(t, loopback, limits.Trusted)
}

func TestIdentitySettingsAreChecked(t *testing.T) {
	provider := oidc.Config{Issuer: "https://id.example", ClientID: "x"}
	for want, i := range map[string]Identity{
		"":                     {BaseURL: "https://hub.example", Provider: provider},
		"set both or neither":  {Provider: oidc.Config{ClientID: "x"}},
		"SERVERY_OIDC_DOMAINS": {Domains: []string{"example.com"}},
	} {
		mistakes := i.validate()
		if want == "" {
			require.Empty(t, mistakes)
			continue
		}
		require.Len(t, mistakes, 1)
		require.ErrorContains(t, mistakes[0], want)
	}
}

func TestWildcardListenAddressIsShownAsLoopback(t *testing.T) {
	for listens, reached := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080", "[::]:8080": "http://127.0.0.1:8080",
		"0.0.0.0:8080": "http://127.0.0.1:8080", "[::1]:8080": "http://[::1]:8080",
	} {
		require.Equal(t, reached, localURL(listens))
	}
}
