package cause

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/core/webhook"
)

// Join lists names: a; a and b; a, b and c.
func Join(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return fmt.Sprintf(text.And, strings.Join(names[:last], ", "), names[last])
}

// instants are the forms of times in messages, such as the end of a certificate's validity, and how they are shown.
var instants = []struct {
	form          *regexp.Regexp
	layout, shown string
}{
	{regexp.MustCompile(`\d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d UTC`), "2 Jan 2006, 15:04 MST",
		"2 Jan 2006, 15:04 MST"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), time.RFC3339, "2 Jan 2006, 15:04:05 MST"},
}

// LocalTimes converts the times in a message to the zone.
func LocalTimes(message string, zone *time.Location) string {
	for _, i := range instants {
		message = i.form.ReplaceAllStringFunc(message, func(s string) string {
			at, err := time.Parse(i.layout, s)
			if err != nil {
				return s
			}
			return at.In(zone).Format(i.shown)
		})
	}
	return message
}

// FailureReason explains in plain words why an attempt failed, with its technical error. Times are in the zone.
func FailureReason(class webhook.ErrorClass, message string, zone *time.Location) string {
	message = strings.ReplaceAll(strings.TrimSuffix(LocalTimes(message, zone), "."), ": ", ", ")
	plain := text.FailureWords[string(class)]
	if plain == "" || message == "" {
		return plain + message
	}
	return fmt.Sprintf(text.FailureText, plain, message)
}

// fieldError matches an error that begins with the name of a field, and perhaps its value.
var fieldError = regexp.MustCompile(`^([a-z]+_[a-z_]+(?: "[^"]*")?|[A-Z][a-z]+[A-Z]\w*): (.+)$`)

// ErrorText moves the name of the field to the end of an error.
func ErrorText(message string) string {
	if match := fieldError.FindStringSubmatch(message); match != nil {
		return fmt.Sprintf(text.FieldError, match[2], match[1])
	}
	return message
}
