package customer

import (
	"slices"
	"strings"
	"unicode"
)

// numbering is how telephone numbers of a country are dialled.
type numbering struct {
	code   string // country calling code
	prefix string // international prefix, dialled before a number of another country
	trunk  string // national prefix, which numbers in international form lack; "": none
	most   int    // digits of the longest national number
}

// numberings has the countries whose national numbers are completed, by ISO 3166 code. A number of another country
// matches only in the form in which it was sent.
//
// Source of codes: ITU-T, "List of Recommendation ITU-T E.164 assigned country codes". Source of prefixes and lengths:
// ITU Operational Bulletin, "Dialling procedures".
var numberings = map[string]numbering{
	"AE": {"971", "00", "0", 9},
	"DE": {"49", "00", "0", 11},
	"GB": {"44", "00", "0", 10},
	"IN": {"91", "00", "0", 10},
	"US": {"1", "011", "1", 10},
}

// Bounds of the digits of a telephone number (ITU-T E.164, section 6).
const (
	minDigits = 7
	maxDigits = 15
)

// NormalizePhone returns the digits of a telephone number with its country calling code, and its extension after an x.
// Numbers that aggregators share among customers differ only by it. A number without a code is of the country of the
// business, or begins with n if the dialling of that country is unknown. It returns "" for a text that is no telephone
// number, or that repeats one digit.
func NormalizePhone(country, text string) string {
	text = strings.TrimSpace(text)
	digits, extension, international := digitsOf(text)
	if national := strings.TrimLeft(digits, "0"); len(national) < minDigits ||
		strings.Trim(national[1:], national[:1]) == "" {
		return ""
	}
	mark := ""
	plan := numberings[country]
	rest, prefixed := strings.CutPrefix(digits, plan.prefix)
	switch {
	case international:
	case plan.code != "" && prefixed:
		digits, international = rest, true
	case plan.code == "":
		if digits, international = strings.CutPrefix(digits, "00"); !international {
			mark, digits = "n", strings.TrimPrefix(digits, "0")
		}
	case plan.trunk == "0" && strings.HasPrefix(digits, "0"):
		digits = plan.code + digits[1:]
	case strings.HasPrefix(digits, plan.code) && len(digits) > plan.most:
		international = true
	default:
		digits = plan.code + digits
	}
	if international {
		digits = withoutTrunk(digits)
	}
	if len(digits) < minDigits || len(digits) > maxDigits {
		return ""
	}
	if extension != "" {
		extension = "x" + extension
	}
	return mark + digits + extension
}

// withoutTrunk removes a trunk 0 after the country calling code, as in +44 (0)20.
func withoutTrunk(digits string) string {
	for _, plan := range numberings {
		if rest, ok := strings.CutPrefix(digits, plan.code+"0"); ok && plan.trunk == "0" {
			return plan.code + strings.TrimLeft(rest, "0")
		}
	}
	return digits
}

// zeros are the zeros of scripts whose digits people type.
var zeros = []rune{'0', '\u0660', '\u06f0', '\u0966', '\uff10'} // Latin, Arabic, Persian, Devanagari, full width

// digitsOf returns the digits before and after the mark of an extension, and whether a + is before them.
func digitsOf(text string) (digits, extension string, international bool) {
	var found, after strings.Builder
	into := &found
	for _, r := range text {
		if at := digitOf(r); at >= 0 {
			into.WriteByte(byte('0' + at))
			continue
		}
		switch {
		case r == '+' || r == '\uff0b':
			if found.Len() > 0 {
				return "", "", false
			}
			international = true
		case strings.ContainsRune(extensionMarks, r) && found.Len() > 0:
			into = &after
		}
	}
	return found.String(), after.String(), international
}

// extensionMarks begin an extension: as in x12, ext. 12, and the pauses of diallers.
const extensionMarks = ",;#xXeEpPwW"

// isDialled reports whether a text has no letter but those of an extension after enough digits.
func isDialled(text string) bool {
	at := strings.IndexFunc(text, unicode.IsLetter)
	if at < 0 {
		return true
	}
	number, _, _ := digitsOf(text[:at])
	mark := strings.ToLower(strings.TrimRightFunc(text[at:], func(r rune) bool { return !unicode.IsLetter(r) }))
	return len(number) >= minDigits && slices.Contains([]string{"x", "ext", "extn", "extension", "p", "w"}, mark)
}

func digitOf(r rune) int {
	for _, zero := range zeros {
		if r >= zero && r <= zero+9 {
			return int(r - zero)
		}
	}
	return -1
}
