package plugintap

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/servery-hub/servery/plugins/sdk"
)

// The replacements of personal values.
const (
	maskedName    = "[name]"
	maskedPhone   = "[number]"
	maskedMail    = "[e-mail]"
	maskedAddress = "[address]"
	maskedSecret  = "[secret]"
)

// kinds are the replacements by a word of the field's name.
var kinds = words(map[string]string{
	maskedName:    "firstname lastname surname fullname",
	maskedPhone:   "phone phones phonenumber mobile tel telephone msisdn cell cellphone contactnumber",
	maskedMail:    "email emails mail",
	maskedAddress: "address street landmark postcode zip zipcode apartment latitude longitude lat lng lon",
	maskedSecret:  "authorization cookie password token",
})

// persons are words for a person. The name of such a field is personal, and so is its value, unless it is an object.
var persons = set("customer rider recipient contact courier driver user guest consumer client buyer person receiver " +
	"sender")

// nameParts are words that make a name personal, such as first_name.
var nameParts = set("first last full middle given family")

// bodies are the fields of the protocol that hold a whole body, or a part of one.
var bodies = set("body pages content text")

func words(lists map[string]string) map[string]string {
	byWord := map[string]string{}
	for kind, list := range lists {
		for word := range strings.FieldsSeq(list) {
			byWord[word] = kind
		}
	}
	return byWord
}

func set(list string) map[string]bool {
	members := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		members[word] = true
	}
	return members
}

// wordsOf splits the name of a field, such as customerName, customer[name] or CUSTOMER_NAME.
func wordsOf(name string) (list []string) {
	lower := false
	start := 0
	end := func(n int) {
		if n > start {
			list = append(list, strings.ToLower(name[start:n]))
		}
	}
	for n, letter := range name {
		switch {
		case !unicode.IsLetter(letter):
			end(n)
			start = n + len(string(letter))
		case unicode.IsUpper(letter) && lower:
			end(n)
			start = n
		}
		lower = unicode.IsLower(letter)
	}
	end(len(name))
	return list
}

// maskOf returns the replacement of a field's value, or "" if its name does not say that it is personal. The parent is
// the field that contains it.
func maskOf(name, parent string) string {
	own := wordsOf(name)
	isPerson := func(word string) bool { return persons[word] || nameParts[word] }
	for _, word := range own {
		if kind := kinds[word]; kind != "" {
			return kind
		}
	}
	if slices.Contains(own, "name") &&
		(slices.ContainsFunc(own, isPerson) || slices.ContainsFunc(wordsOf(parent), isPerson)) {
		return maskedName
	}
	return ""
}

// isPersonName reports whether a scalar of this name is the name of a person, such as customer.
func isPersonName(name string) bool {
	own := wordsOf(name)
	return len(own) > 0 && !slices.ContainsFunc(own, func(word string) bool { return !persons[word] })
}

// MaskJSON replaces personal values in JSON by the names of fields, and phone numbers and e-mail addresses anywhere. It
// also masks bodies in other formats. It replaces any other text as a whole.
func MaskJSON(text []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return []byte(`"` + unreadable + `"`)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(maskValue(value, "", "")); err != nil {
		return []byte(`"` + unreadable + `"`)
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}

// maskValue masks a decoded value. The parent is the field that contains the one with the name.
func maskValue(value any, name, parent string) any {
	kind := maskOf(name, parent)
	switch value := value.(type) {
	case map[string]any:
		field, _ := value["name"].(string)
		for _, member := range []string{"value", "text", "content"} { // of a field of a form, or a part
			if text, is := value[member].(string); is && kind == "" {
				value[member] = maskField(field, text)
			}
		}
		for _, member := range slices.Collect(maps.Keys(value)) {
			if kind != "" {
				value[member] = maskAll(value[member], kind)
			} else {
				value[member] = maskValue(value[member], member, name)
			}
		}
		return value
	case []any:
		for i := range value {
			value[i] = maskValue(value[i], name, parent)
		}
		return value
	case string:
		if masked := maskScalar(name, parent, value); masked != value {
			return masked
		}
		if name == "base64" {
			return unreadable
		}
		if bodies[name] {
			return MaskBody(value)
		}
		return sdk.MaskPersonal(value)
	case json.Number:
		if masked := maskScalar(name, parent, value.String()); masked != value.String() {
			return masked
		}
		if masked := sdk.MaskPersonal(value.String()); masked != value.String() && !strings.HasSuffix(name, "_at") {
			return masked
		}
	}
	return value
}

// maskScalar replaces a value by the name of its field.
func maskScalar(name, parent, value string) string {
	kind := maskOf(name, parent)
	switch {
	case value == "":
		return value
	case kind != "":
		return kind
	case isPersonName(name):
		return maskedName
	}
	return value
}

// maskAll replaces every scalar of a value.
func maskAll(value any, kind string) any {
	switch value := value.(type) {
	case map[string]any:
		for _, member := range slices.Collect(maps.Keys(value)) {
			value[member] = maskAll(value[member], kind)
		}
		return value
	case []any:
		for i := range value {
			value[i] = maskAll(value[i], kind)
		}
		return value
	case nil, bool:
		return value
	}
	return kind
}
