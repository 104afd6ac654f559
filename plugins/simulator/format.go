package simulator

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/plugins/sdk"
)

// maxFormatErrors is the maximum number of errors that are reported for one body.
const maxFormatErrors = 20

// formatErrors lists the differences of a body from the documented format.
type formatErrors []string

// Error returns all of them.
func (f formatErrors) Error() string { return strings.Join(f, "; ") }

// decodeStrict decodes a body into a struct that describes its format. Unknown members, missing members without
// omitempty, and null are errors. The tag `as` restricts strings. Its values are id (not empty), decimal, count (a
// whole number), instant (RFC 3339), time (HH:MM:SS), span (two times), and the names of formatWords. Other values are
// "one of" and the allowed words.
func decodeStrict[T any](body []byte) (T, error) {
	var into T
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return into, formatErrors{"the body is no JSON: " + err.Error()}
	}
	c := formatChecker{}
	c.value("", value, reflect.TypeOf(into), "")
	if len(c.problems) > 0 {
		return into, c.problems
	}
	if err := json.Unmarshal(body, &into); err != nil {
		return into, formatErrors{err.Error()}
	}
	return into, nil
}

// formatChecker checks a value against a type.
type formatChecker struct{ problems formatErrors }

func (c *formatChecker) fail(path, format string, values ...any) {
	if len(c.problems) < maxFormatErrors {
		if path == "" {
			path = "the body"
		}
		c.problems = append(c.problems, path+" "+fmt.Sprintf(format, values...))
	}
}

func (c *formatChecker) value(path string, value any, t reflect.Type, as string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct:
		c.object(path, value, t)
	case reflect.Slice:
		list, ok := value.([]any)
		if !ok {
			c.fail(path, "must be an array")
		}
		for i, element := range list {
			c.value(fmt.Sprintf("%s[%d]", path, i), element, t.Elem(), as)
		}
	case reflect.Map:
		members, ok := value.(map[string]any)
		if !ok {
			c.fail(path, "must be an object")
		}
		for name, member := range members {
			c.value(path+"."+name, member, t.Elem(), as)
		}
	case reflect.String:
		if text, ok := value.(string); !ok {
			c.fail(path, "must be a string")
		} else if rule := mismatch(text, as); rule != "" {
			c.fail(path, "%q %s", sdk.Truncate(text, 100), rule)
		}
	case reflect.Bool:
		if _, ok := value.(bool); !ok {
			c.fail(path, "must be true or false")
		}
	case reflect.Int64, reflect.Float64:
		number, ok := value.(float64)
		if !ok {
			c.fail(path, "must be a number")
		} else if t.Kind() == reflect.Int64 && (number != math.Trunc(number) || math.Abs(number) > 1<<53) {
			c.fail(path, "must be a whole number")
		}
	}
}

func (c *formatChecker) object(path string, value any, t reflect.Type) {
	members, ok := value.(map[string]any)
	if !ok {
		c.fail(path, "must be an object")
		return
	}
	known := make(map[string]bool, t.NumField())
	for i := range t.NumField() {
		field := t.Field(i)
		name, option, _ := strings.Cut(field.Tag.Get("json"), ",")
		known[name] = true
		below := strings.TrimPrefix(path+"."+name, ".")
		if member, sent := members[name]; sent {
			c.value(below, member, field.Type, field.Tag.Get("as"))
		} else if option != "omitempty" {
			c.fail(below, "is missing")
		}
	}
	for name := range members {
		if !known[name] {
			c.fail(strings.TrimPrefix(path+"."+sdk.Truncate(name, 100), "."), "is unknown")
		}
	}
}

var (
	decimalText = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
	countText   = regexp.MustCompile(`^(0|[1-9][0-9]*)$`)
	timeText    = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$`)
)

// formatWords are the words of each set of words that a tag `as` names.
var formatWords = map[string]string{
	"weekday": "monday tuesday wednesday thursday friday saturday sunday",
	"unit":    "kg ounces pounds pieces scoop litre ml gram inches slices",
	"rider state": "rider_assigned rider_unassigned rider_at_store picked_up rider_at_customer delivered " +
		"no_rider",
}

// mismatch returns the rule that a text violates, or "".
func mismatch(text, as string) string {
	wrong, rule := false, ""
	switch as {
	case "id":
		wrong, rule = text == "", "must not be empty"
	case "decimal":
		wrong, rule = !decimalText.MatchString(text), "must be a decimal number"
	case "count":
		wrong, rule = !countText.MatchString(text), "must be a whole number"
	case "instant":
		_, err := time.Parse(time.RFC3339, text)
		wrong, rule = err != nil, "must be a time such as 2026-11-21T18:30:00Z"
	case "date":
		_, err := time.Parse(time.DateOnly, text)
		wrong, rule = err != nil, "must be a date such as 2026-11-21"
	case "time":
		wrong, rule = !timeText.MatchString(text), "must be a time of day such as 18:30:00"
	case "span":
		start, end, _ := strings.Cut(text, "-")
		wrong, rule = !timeText.MatchString(start) ||
			!timeText.MatchString(end), "must be a span of a day such as 11:00:00-15:00:00"
	default:
		words, choice := strings.CutPrefix(as, "one of ")
		if named, known := formatWords[as]; known {
			words, choice = named, true
		}
		wrong, rule = choice && !slices.Contains(strings.Fields(words), text), "must be one of: "+words
	}
	if wrong {
		return rule
	}
	return ""
}
