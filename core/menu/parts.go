package menu

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// DefaultTag is the tag for every platform without its own.
const DefaultTag = core.DefaultTag

// fulfillmentModes are the ways in which an order reaches its customer.
var fulfillmentModes = []string{"delivery", "pickup"}

// TitledTranslation is the text of an entity in one language.
type TitledTranslation struct {
	Language    string  `json:"language"` // see core.ReadLanguage
	Text        *string `json:"title,omitzero"`
	Description *string `json:"description,omitzero"`
}

// NamedTranslation is the text of a category in one language. It ignores the fields that only TitledTranslation has.
type NamedTranslation struct {
	Language    string  `json:"language"` // see core.ReadLanguage
	Text        *string `json:"name,omitzero"`
	Description *string `json:"description,omitzero"`
}

// Image is a picture for one platform, or for all platforms under DefaultTag.
type Image struct {
	Tag string `json:"tag"`
	URL string `json:"url"`
}

// FoodType is a diet type: 1 vegetarian, 2 non-vegetarian, 3 egg, 4 not applicable. It may be sent as a string or an
// integer and is stored as a string.
type FoodType string

var errFoodType = &core.RuleError{Code: "value",
	Rule: `must be "1" (vegetarian), "2" (non-vegetarian), "3" (egg) or "4" (not applicable)`}

// UnmarshalJSONFrom reads a diet type from a string or an integer.
func (f *FoodType) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	value, err := d.ReadValue()
	if err != nil {
		return err
	}
	if value.Kind() == 'n' {
		return nil
	}
	text := strings.Trim(string(value), `"`)
	if value.Kind() == '0' {
		text = core.IntegerText(text)
	}
	switch text {
	case "1", "2", "3", "4":
		*f = FoodType(text)
		return nil
	}
	return errFoodType
}

// translations checks translated texts. It drops those without a language, and those of a language that an earlier one
// has. The parameter field is the name of the text field.
func translations[T TitledTranslation | NamedTranslation](c *checker, list *[]T, field string) {
	if !c.atMost("translations", len(*list), maxParts) {
		return
	}
	unique := (*list)[:0]
	for i := range *list {
		t := TitledTranslation((*list)[i])
		c.enter("translations", i)
		if strings.TrimSpace(t.Language) == "" {
			c.warn("language", core.NoLanguage)
			c.leave()
			continue
		}
		t.Language = c.language(t.Language)
		c.text(field, t.Text, 0, maxTitle)
		c.text("description", t.Description, 0, maxDescription)
		if slices.ContainsFunc(unique, func(other T) bool { return TitledTranslation(other).Language == t.Language }) {
			c.warn("language", "is given twice, and the first translation is used")
		} else {
			unique = append(unique, T(t))
		}
		c.leave()
	}
	if len(unique) == 0 && len(*list) > 0 { // would delete the stored ones
		unique = nil
	}
	*list = unique
}

func (c *checker) images(list []Image) {
	if !c.atMost("images", len(list), maxParts) {
		return
	}
	for i := range list {
		image := &list[i]
		c.enter("images", i)
		c.text("tag", &image.Tag, 1, maxName)
		if slices.ContainsFunc(list[:i], func(other Image) bool { return other.Tag == image.Tag }) {
			c.fail("tag", "duplicate", "is given twice")
		}
		c.link("url", &image.URL, true)
		c.leave()
	}
}

// tags checks the tags of an item. A platform with null counts as not sent.
func (c *checker) tags(sent *map[string][]string) {
	tags := *sent
	for _, platform := range slices.Sorted(maps.Keys(tags)) {
		list, field := tags[platform], "tags."+platform
		if list == nil {
			if delete(tags, platform); len(tags) == 0 { // {} would delete the stored ones
				*sent = nil
			}
			continue
		}
		if strings.TrimSpace(platform) == "" || core.TooLong(platform, maxName) != "" {
			c.fail("tags", "length", fmt.Sprintf("must have names of 1 to %d characters", maxName))
		}
		for i := range list {
			if s := &list[i]; *s == "" || len(*s) > maxName {
				c.text(fmt.Sprintf("%s[%d]", field, i), s, 1, maxName)
			}
		}
	}
}

// encodeDocument returns the canonical JSON of a list or map, for storage and comparison. It returns nil if the value
// was not sent.
func encodeDocument[T any](value T, sent bool) jsontext.Value {
	if !sent {
		return nil
	}
	encoded, err := json.Marshal(value, json.Deterministic(true))
	if err != nil { // cannot fail: only strings, numbers and lists of them are encoded
		panic("menu: encoding a decoded value: " + err.Error())
	}
	return encoded
}

// decodeDocument decodes a stored document. An absent one decodes to the zero value.
func decodeDocument[T any](doc jsontext.Value) T {
	var value T
	if len(doc) > 0 {
		if err := json.Unmarshal(doc, &value); err != nil {
			panic("menu: a stored document is damaged: " + err.Error())
		}
	}
	return value
}
