package core

import "golang.org/x/text/language"

// Language is the present form of a two-letter code of ISO 639-1: in lower case,
// and of a code that was withdrawn the one that took its place ("he" for "iw"). It
// is false where there is no such code.
func Language(code string) (present string, known bool) {
	if len(code) != 2 {
		return "", false
	}
	if _, err := language.ParseBase(code); err != nil {
		return "", false
	}
	base, _ := language.DeprecatedBase.Make(code).Base()
	return base.String(), true
}
