package core

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLoggedTextIsShortAndPrintable(t *testing.T) {
	for text, logged := range map[string]string{
		"":                             "",
		"a\nb\tcafé \"x\"":             "a b café \"x\"",
		"a\x01\x1b\x7fb\u2028\xff":     "a???b??",
		strings.Repeat("a", 256):       strings.Repeat("a", 256),
		strings.Repeat("é", 129):       strings.Repeat("é", 128) + "… (258 bytes)",
		strings.Repeat("\x01", 257):    strings.Repeat("?", 256) + "… (257 bytes)",
		"a" + strings.Repeat("é", 129): "a" + strings.Repeat("é", 127) + "?… (259 bytes)",
	} {
		require.Equal(t, logged, ClipLogged(text), "%q", text)
	}
}

func TestTextsAreBoundedInCharacters(t *testing.T) {
	for text, want := range map[string][2]string{
		"": {"required", "must not be empty"}, " \t": {"required", "must not be empty"},
		"abc": {}, "ééé": {}, "abcd": {"length", "must be at most 3 characters long, not 4"},
		"éééé": {"length", "must be at most 3 characters long, not 4"},
	} {
		code, rule := CheckText(&text, 1, 3)
		require.Equal(t, want[1], rule, "%q", text)
		if rule != "" {
			require.Equal(t, want[0], code)
		}
	}
	code, rule := CheckText(nil, 1, 3)
	require.Empty(t, code+rule, "it was not sent")
	_, rule = CheckText(new(string), 0, 3)
	require.Empty(t, rule, "it may be empty")
}
