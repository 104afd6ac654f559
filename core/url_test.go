package core

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnusableURLsAreRejected(t *testing.T) {
	label := strings.Repeat("a", 63)
	for sent, words := range map[string]string{
		"https://pos.example.com/hook?a=b%20c+d": "",
		"https://pos.example.com./a b":           "",
		"HTTP://pos:1/":                          "",
		"https://pos:65535?":                     "",
		"https://pos:/":                          "",
		"https://[2001:db8::1]:8443/":            "",
		"https://192.0.2.1/":                     "",
		"https://" + label + ".example/":         "",
		"https://" + strings.Repeat("я", 60):     "", // fewer characters once encoded
		"https://pos.example.com/q?a=b c":        "must not have a space after the question mark: write %20",
		"https://pos:0/":                         "must have a port from 1 to 65535",
		"https://pos:65536/":                     "must have a port from 1 to 65535",
		"https://pos:99999999999999999999/":      "must have a port from 1 to 65535",
		"https://./":                             "must have a host name with",
		"https://a..b/":                          "must have a host name with",
		"https://.a/":                            "must have a host name with",
		"https://a" + label + ".example/":        "must have a host name with",
		"https://" + strings.Repeat("a.", 128):   "must have a host name with",
		"https://:8443/":                         "must be a full URL",
		"ftp://pos.example.com/":                 "must begin with https:// or http://",
		"https://u:p@pos.example.com/":           "must not contain a user name or password: use headers",
		"https://pos.example.com/#top":           "must not contain a fragment",
	} {
		if words == "" {
			require.Empty(t, CheckURL(sent), sent)
		} else {
			require.Contains(t, CheckURL(sent), words, sent)
		}
	}
	for _, link := range []string{"https://aggregator.example/?outlet=Market Street",
		"https://aggregator.example/city#/store/17", "https://user@aggregator.example/"} {
		require.Empty(t, CheckLink(link), "the hub does not open it")
	}
}
