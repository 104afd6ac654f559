package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLanguagesHaveOneCodeEach(t *testing.T) {
	for code, present := range map[string]string{
		"en": "en", "HI": "hi", "nb": "nb", "no": "no", "tl": "tl",
		"in": "id", "iw": "he", "ji": "yi", "jw": "jv", "mo": "ro",
	} {
		got, known := NormalizeLanguage(code)
		require.True(t, known, code)
		require.Equal(t, present, got)
	}
	for _, code := range []string{"", "e", "eng", "qx", "e1", "en-US", "é"} {
		_, known := NormalizeLanguage(code)
		require.False(t, known, code)
	}
}
