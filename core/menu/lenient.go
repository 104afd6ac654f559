package menu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"

	"github.com/servery-hub/servery/core"
)

// This file accepts deviations from the documented format that clients in production send. Each gets a warning.

// warn adds a warning about a field of the current object. The text continues the field's name.
func (c *checker) warn(field, text string) {
	path := c.path(field)
	c.warnings = append(c.warnings, Warning{path, path + " " + text})
}

// references checks a list of references, and drops blank ones, which some clients send for none.
func (c *checker) references(field string, list *[]string) { c.notBlank(field, list, "references") }

// platforms checks a list of names of platforms, and drops blank ones.
func (c *checker) platforms(field string, list *[]string) { c.notBlank(field, list, "names") }

func (c *checker) notBlank(field string, list *[]string, entries string) {
	c.refs(field, *list) // before an entry changes its index
	kept, warning := core.DropBlankEntries(*list, entries)
	if *list = kept; warning != "" {
		c.warn(field, warning)
	}
}

// language returns the stored form of a language code (core.ReadLanguage).
func (c *checker) language(code string) string {
	if core.TooLong(code, maxName) != "" {
		c.text("language", &code, 1, maxName)
		return code
	}
	stored, warning := core.ReadLanguage(code)
	if warning != "" {
		c.warn("language", warning)
	}
	return stored
}

// roundNoise rounds a price that differs from one in the currency's minor unit only by the noise of floating-point
// arithmetic, such as 6.599999999999999. A price with more digits on purpose stays.
func (c *checker) roundNoise(price *core.Amount) {
	digits := c.rules.minorDigits()
	if price == nil || price.Exponent() >= -digits {
		return
	}
	rounded := price.Round(digits)
	if noise := price.Sub(rounded).Abs(); noise.IsZero() || noise.GreaterThan(decimal.New(1, -digits-3)) {
		return
	}
	if c.rounded++; c.rounded == 1 {
		c.example = price.String() + " to " + rounded.String()
	}
	price.Decimal = rounded
}

// roundedPrices returns the warning about rounded prices of the whole request.
func (c *checker) roundedPrices() []Warning {
	if c.rounded == 0 {
		return nil
	}
	return []Warning{{"price", fmt.Sprintf(
		"price has more decimals than the currency in %d cases, rounded such as %s", c.rounded, c.example)}}
}

// escapePercent escapes each percent sign that begins no escape sequence.
func escapePercent(address string) string {
	hex := func(i int) bool {
		return i < len(address) && strings.IndexByte("0123456789abcdefABCDEF", address[i]) >= 0
	}
	var escaped strings.Builder
	for i := range len(address) {
		escaped.WriteByte(address[i])
		if address[i] == '%' && (!hex(i+1) || !hex(i+2)) {
			escaped.WriteString("25")
		}
	}
	return escaped.String()
}

// optionalTexts are the fields that some clients send as false for none, and translatedTexts those of translations.
var (
	optionalTexts   = []string{"description", "ref_title", "img_url", "parent_ref_id"}
	translatedTexts = []string{"title", "name", "description"}
)

// replacement is a field of another type than it should have, and how it is read.
type replacement struct{ field, as string }

// replaceOtherTypes returns an object with false replaced by an empty text, and an empty array by an empty object. It
// removes a food_type that is false. It also returns the replacements. Some languages have one type for arrays and
// objects.
func replaceOtherTypes(raw jsontext.Value) (object jsontext.Value, replaced []replacement) {
	var members map[string]jsontext.Value
	if json.Unmarshal(raw, &members) != nil {
		return raw, nil
	}
	for _, field := range append(core.ReplaceFalseTexts(members, optionalTexts),
		core.ReplaceFalseTextsIn(members, "translations", translatedTexts)...) {
		replaced = append(replaced, replacement{field, core.FalseText})
	}
	if members["food_type"].Kind() == 'f' { // an empty one is not valid
		delete(members, "food_type")
		replaced = append(replaced, replacement{"food_type", "is false, and is read as absent"})
	}
	var elements []jsontext.Value
	if tags := members["tags"]; tags.Kind() == '[' && json.Unmarshal(tags, &elements) == nil && len(elements) == 0 {
		members["tags"] = jsontext.Value(`{}`)
		replaced = append(replaced, replacement{"tags", "is an array, which counts as an empty object"})
	}
	return encodeDocument(members, true), replaced
}

// merger is an object that may be submitted twice in a request.
type merger[P any] interface {
	inheritor
	// merge joins it with the first, which has the index.
	merge(into P, first int, c *checker)
}

// inheritor is an object that may have been merged with an earlier one.
type inheritor interface {
	// inherit takes what belongs to both from the first, which has failed.
	inherit()
}

var (
	_ merger[*TaxObject]         = (*TaxObject)(nil)
	_ merger[*OptionGroupObject] = (*OptionGroupObject)(nil)
)

// merge joins an object that is submitted twice with the first one. Both keep their lists, but a tax on all items is on
// all for both. The flags to clear move to the first one, so that nothing is cleared between the lists.
func (o *TaxObject) merge(first *TaxObject, index int, c *checker) {
	c.warn("code", fmt.Sprintf("and structure.value are the same as in taxes[%d], and the two are merged", index))
	o.first, first.Title = first, firstOf(first.Title, o.Title)
	first.ClearItems, o.ClearItems = first.ClearItems || o.ClearItems, false
	if slices.Contains(o.ItemRefIDs, AllItems) {
		first.ItemRefIDs = o.ItemRefIDs
	}
}

func (o *TaxObject) inherit() {
	if o.first != nil {
		o.Title, o.ClearItems = firstOf(o.Title, o.first.Title), o.first.ClearItems
	}
}

func (o *OptionGroupObject) merge(first *OptionGroupObject, index int, c *checker) {
	c.warn("ref_id", fmt.Sprintf("is the same as in option_groups[%d], and the two are merged", index))
	o.first, first.Title = first, firstOf(first.Title, o.Title)
	first.ClearItems = first.ClearItems || o.ClearItems || o.ClearItemRefIDs
	first.ClearOptions = first.ClearOptions || o.ClearOptions
	o.ClearItems, o.ClearItemRefIDs, o.ClearOptions = false, false, false
}

func (o *OptionGroupObject) inherit() {
	if first := o.first; first != nil {
		o.Title = firstOf(o.Title, first.Title)
		o.ClearItems, o.ClearOptions = first.ClearItems || first.ClearItemRefIDs, first.ClearOptions
	}
}

func firstOf[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}
