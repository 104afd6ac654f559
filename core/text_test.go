package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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
