package core

import (
	"cmp"
	"strings"

	"golang.org/x/text/language"
)

// NormalizeLanguage returns the current form of a two-letter ISO 639-1 code, in lower case. A withdrawn code returns
// its successor ("he" for "iw"). It returns false for an unknown code.
func NormalizeLanguage(code string) (present string, known bool) {
	if len(code) != 2 {
		return "", false
	}
	if _, err := language.ParseBase(code); err != nil {
		return "", false
	}
	base, _ := language.DeprecatedBase.Make(code).Base()
	return base.String(), true
}

// NoLanguage is the warning about a translation with a blank language. It continues the field's name.
const NoLanguage = "is empty, and the translation is ignored"

// ReadLanguage returns the stored form of the language code of a translation, with its script and region if it has
// them. It keeps codes outside of ISO 639-1, in lower case. The warning about another form continues the field's name,
// "" if there is none.
func ReadLanguage(code string) (stored, warning string) {
	code = strings.TrimSpace(code)
	locale, _, _ := strings.Cut(code, ".") // such as de_DE.UTF-8
	locale, _, _ = strings.Cut(locale, "@")
	base, subtags, _ := strings.Cut(strings.ReplaceAll(locale, "_", "-"), "-")
	present, known := NormalizeLanguage(base)
	if !known {
		stored = strings.ToLower(code)
		return stored, "is not a two-letter ISO 639-1 code, and is stored as " + QuoteNames([]string{stored})
	}
	stored, has := present, ""
	for subtag := range strings.SplitSeq(subtags, "-") {
		script, unknownScript := language.ParseScript(subtag)
		switch {
		case subtag == "":
			continue
		case len(subtag) == 2, len(subtag) == 3 && subtag[0] <= '9':
			has, subtag = "a region", strings.ToUpper(subtag)
		case unknownScript == nil:
			has, subtag = cmp.Or(has, "a script"), script.String()
		default:
			has, subtag = cmp.Or(has, "a variant"), strings.ToLower(subtag)
		}
		stored += "-" + subtag
	}
	if has == "" {
		return stored, ""
	}
	return stored, "has " + has + ", and is stored as " + QuoteNames([]string{stored})
}
