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

func TestLanguageKeepsItsScriptAndRegion(t *testing.T) {
	for code, want := range map[string]struct{ stored, has string }{
		"en": {"en", ""}, "iw": {"he", ""}, "es-": {"es", ""}, "es_es": {"es-ES", "a region"},
		"es-419": {"es-419", "a region"}, "zh-Hans": {"zh-Hans", "a script"}, "zh_HANT_tw": {"zh-Hant-TW", "a region"},
		"SR-latn-rs": {"sr-Latn-RS", "a region"}, "zh-Yue": {"zh-yue", "a variant"},
		"pt-BR ": {"pt-BR", "a region"}, "de_DE.UTF-8": {"de-DE", "a region"}, "de_DE@euro": {"de-DE", "a region"},
		"de-1996": {"de-1996", "a variant"}, "en-ÄÄ": {"en-ää", "a variant"},
	} {
		stored, warning := ReadLanguage(code)
		require.Equal(t, want.stored, stored)
		if want.has == "" {
			require.Empty(t, warning, code)
			continue
		}
		require.Equal(t, "has "+want.has+`, and is stored as "`+stored+`"`, warning)
	}
	for code, stored := range map[string]string{"": "", "-es": "-es", "Zho-Hans": "zho-hans", "Klingon": "klingon"} {
		got, warning := ReadLanguage(code)
		require.Equal(t, stored, got)
		require.Contains(t, warning, "is not a two-letter ISO 639-1 code", code)
	}
}
