package sdk

import "regexp"

// The forms of personal values that a text can hold by chance, such as the text of a panic.
var (
	phoneNumber = regexp.MustCompile(`\+\d[\d ().-]{5,17}\d|\b\d{10,15}\b|\(?\b\d{3}\)?[ .-]\d{3}[ .-]\d{4}\b`)
	mailAddress = regexp.MustCompile(`[\w.+%-]+@[\w-]+(\.[\w-]+)+`)
)

// MaskPersonal replaces phone numbers, other numbers of that length, and e-mail addresses in a text. The texts of
// faults are stored and logged, and a plugin cannot always choose them.
func MaskPersonal(text string) string {
	return mailAddress.ReplaceAllString(phoneNumber.ReplaceAllString(text, "[number]"), "[e-mail]")
}
