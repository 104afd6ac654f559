package main

import (
	"net/netip"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/inbound"
	"github.com/servery-hub/servery/core/internal/hub"
)

// asShipped is the configuration of a hub whose operator sets nothing.
func asShipped(t *testing.T) hub.Config {
	t.Helper()
	var flags struct{ serveCommand }
	parser, err := kong.New(&flags)
	require.NoError(t, err)
	_, err = parser.Parse(nil)
	require.NoError(t, err)
	config, err := flags.config()
	require.NoError(t, err)
	return config
}

func TestFlagsHaveTheDefaultsOfAHub(t *testing.T) {
	shipped := asShipped(t)
	shipped.Version = ""
	require.Equal(t, hub.Defaults(), shipped)
}

func TestConnectionFlagsAreChecked(t *testing.T) {
	fine := connectionFlags{MaxPerAddress: 1, MinRate: 1,
		HeaderTimeout: time.Second, StallTimeout: time.Second, IdleTimeout: time.Second}
	require.Empty(t, fine.wrong(1024))
	for message, spoil := range map[string]func(*connectionFlags){
		"SERVERY_MAX_CONNECTIONS: must be 0 or from 16 to 768": func(f *connectionFlags) { f.MaxConnections = 769 },
		"SERVERY_MAX_CONNECTIONS: must be 0":                   func(f *connectionFlags) { f.MaxConnections = 15 },
		"SERVERY_MAX_CONNECTIONS_PER_ADDRESS: must be":         func(f *connectionFlags) { f.MaxPerAddress = 0 },
		"SERVERY_HEADER_TIMEOUT: must be":                      func(f *connectionFlags) { f.HeaderTimeout = 0 },
		"SERVERY_STALL_TIMEOUT: must be": func(f *connectionFlags) {
			f.StallTimeout =
				2 * time.Hour
		},
		"SERVERY_IDLE_TIMEOUT: must be": func(f *connectionFlags) {
			f.IdleTimeout =
				time.Millisecond
		},
		"SERVERY_MIN_RATE: must be": func(f *connectionFlags) { f.MinRate = 0 },
	} {
		spoiled := fine
		spoil(&spoiled)
		mistakes := spoiled.wrong(1024)
		require.Len(t, mistakes, 1, message)
		require.ErrorContains(t, mistakes[0], message)
	}
}

func TestShippedConnectionLimitsFitOpenFiles(t *testing.T) {
	shipped := asShipped(t).Connections
	require.Equal(t, min(2048, inbound.OpenFiles()/2), shipped.Limits.Max)
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	require.Equal(t, loopback, shipped.Limits.Trusted)
}

func TestIdentitySettingsAreChecked(t *testing.T) {
	for want, f := range map[string]identityFlags{
		"":                     {BaseURL: "https://hub.example", Issuer: "https://id.example", ClientID: "x"},
		"SERVERY_BASE_URL":     {BaseURL: "hub.example"},
		"SERVERY_OIDC_ISSUER:": {Issuer: "id.example", ClientID: "x"},
		"one needs the other":  {ClientID: "x"},
		"SERVERY_OIDC_DOMAINS": {Domains: []string{"example.com"}},
	} {
		wrong := f.wrong()
		if want == "" {
			require.Empty(t, wrong)
			continue
		}
		require.Len(t, wrong, 1)
		require.ErrorContains(t, wrong[0], want)
	}
	for address, right := range map[string]bool{
		"https://hub.example": true, "http://127.0.0.1:8080/": true, "HTTPS://Hub.example/": true,
		"https://hub.example/servery": false, "https://hub.example/?a=b": false,
		"https://hub.example#c": false, "https://hub.example?": false, "https://sam:secret@hub.example": false,
	} {
		require.Equal(t, right, identityFlags{BaseURL: address}.wrong() == nil, address)
	}
}
