package console

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// FieldChange is a changed value of a record: its path, such as platform_pricing[0].price, and its old and new value.
// A missing value is "".
type FieldChange struct{ Field, Before, After string }

// FieldChanges returns the differences between two records, sorted by path. A record is a JSON object, or empty if it
// does not exist. Numbers keep all their digits, and a list of plain values counts as one value.
func FieldChanges(before, after []byte) (changes []FieldChange) {
	all := map[string]*FieldChange{}
	changeAt := func(field string) *FieldChange {
		if all[field] == nil {
			all[field] = &FieldChange{Field: field}
		}
		return all[field]
	}
	eachField("", before, func(field, value string) { changeAt(field).Before = value })
	eachField("", after, func(field, value string) { changeAt(field).After = value })
	for _, change := range all {
		if change.Before != change.After {
			changes = append(changes, *change)
		}
	}
	slices.SortFunc(changes, func(a, b FieldChange) int { return strings.Compare(a.Field, b.Field) })
	return changes
}

// eachField calls report for every value within a value, with its path.
func eachField(path string, value jsontext.Value, report func(path, value string)) {
	switch value.Kind() {
	case '{':
		var members map[string]jsontext.Value
		if json.Unmarshal(value, &members) == nil && len(members) > 0 {
			for name, member := range members {
				eachField(strings.TrimPrefix(path+"."+name, "."), member, report)
			}
			return
		}
	case '[':
		var elements []jsontext.Value
		if json.Unmarshal(value, &elements) == nil && len(elements) > 0 {
			eachElement(path, elements, report)
			return
		}
	}
	if len(value) > 0 {
		report(path, formatValue(value))
	}
}

func eachElement(path string, elements []jsontext.Value, report func(path, value string)) {
	words := make([]string, len(elements))
	for i, element := range elements {
		if kind := element.Kind(); kind == '{' || kind == '[' {
			for i, element := range elements {
				eachField(fmt.Sprintf("%s[%d]", path, i), element, report)
			}
			return
		}
		words[i] = formatValue(element)
	}
	report(path, strings.Join(words, ", "))
}

// formatValue formats a value for people: a string without quotes, a number as a decimal.
func formatValue(value jsontext.Value) string {
	switch value.Kind() {
	case '"':
		var text string
		if json.Unmarshal(value, &text) == nil {
			return text
		}
	case '0':
		if amount, err := core.ParseAmount(string(value)); err == nil {
			return amount.String()
		}
	}
	return string(bytes.TrimSpace(value))
}
