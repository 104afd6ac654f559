package core

import "golang.org/x/text/language"

// NormalizeLanguage returns the current form of a two-letter ISO 639-1 code, in lower case. A withdrawn code returns
// its successor ("he" for "iw"). It returns false for an unknown code.
func NormalizeLanguage(code string) (current string, known bool) {
	if len(code) != 2 {
		return "", false
	}
	if _, err := language.ParseBase(code); err != nil {
		return "", false
	}
	base, _ := language.DeprecatedBase.Make(code).Base()
	return base.String(), true
}
