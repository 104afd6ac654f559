package environ

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBaseURLHasNoPath(t *testing.T) {
	for text, right := range map[string]bool{
		"https://hub.example": true, "http://127.0.0.1:8080/": true, "HTTPS://Hub.example/": true, "": true,
		"https://hub.example/servery": false, "https://hub.example/?a=b": false, "hub.example": false,
		"https://hub.example#c": false, "https://hub.example?": false, "https://sam:secret@hub.example": false,
	} {
		var u BaseURL
		err := u.UnmarshalText([]byte(text))
		require.Equal(t, right, err == nil, text)
		if err != nil {
			require.NotContains(t, err.Error(), "secret")
		}
	}
	var u BaseURL
	require.NoError(t, u.UnmarshalText([]byte("https://hub.example/")))
	require.Equal(t, BaseURL("https://hub.example"), u)
}

func TestNetworksAreMaskedAndTrimmed(t *testing.T) {
	var n Network
	require.NoError(t, n.UnmarshalText([]byte(" 10.1.2.3/16 ")))
	require.Equal(t, "10.1.0.0/16", Prefixes([]Network{n})[0].String())
	require.ErrorContains(t, n.UnmarshalText([]byte("10.1.0.0")), "must be CIDR ranges")
}
