package sdk

import (
	"regexp"
	"strings"
)

// The forms of personal values that a text can hold by chance, such as the text of a panic.
var (
	phoneNumber = regexp.MustCompile(`\+\d[\d ().-]{5,17}\d|\b\d{10,15}\b|\(?\b\d{3}\)?[ .-]\d{3}[ .-]\d{4}\b`)
	mailAddress = regexp.MustCompile(`[\w.+%-]+@[\w-]+(\.[\w-]+)+`)
	versionMark = regexp.MustCompile(`@v\d+\.\d+\.\d+`) // of a module in the path of a source file
)

// minPhoneDigits is the minimum number of digits of a phone number.
const minPhoneDigits = 7

// MaskPersonal replaces phone numbers, other numbers of that length, and e-mail addresses in a text. The texts of
// faults are stored and logged, and a plugin cannot always choose them.
func MaskPersonal(text string) string {
	digits := 0
	for n := range len(text) {
		if '0' <= text[n] && text[n] <= '9' {
			digits++
		}
	}
	if digits >= minPhoneDigits { // most texts have fewer
		text = phoneNumber.ReplaceAllString(text, "[number]")
	}
	if strings.Contains(text, "@") {
		text = mailAddress.ReplaceAllStringFunc(text, func(found string) string {
			if versionMark.MatchString(found) {
				return found
			}
			return "[e-mail]"
		})
	}
	return text
}
