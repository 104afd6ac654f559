package menu

import (
	"slices"
	"unicode/utf8"
	"unsafe"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// DecodeStored decodes a stored entity: its master record, or a store's values. A menu has tens of thousands of these.
// The most frequent kinds are therefore decoded here, in the form that the hub writes. The JSON library decodes
// everything else. The database guarantees valid JSON.
func DecodeStored(stored string, into any) error {
	if decodeFast(stored, into) {
		return nil
	}
	return json.Unmarshal([]byte(stored), into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// The fields of the most frequent types.
var (
	storedItem         = fieldsOf[Item]()
	storedItemValues   = fieldsOf[ItemValues]()
	storedGroup        = fieldsOf[OptionGroup]()
	storedOption       = fieldsOf[Option]()
	storedOptionValues = fieldsOf[OptionValues]()
)

// decodeFast decodes without the JSON library, if possible.
func decodeFast(stored string, into any) bool {
	switch into := into.(type) {
	case *Item:
		return storedItem.decode(stored, into)
	case *ItemValues:
		return storedItemValues.decode(stored, into)
	case *OptionGroup:
		return storedGroup.decode(stored, into)
	case *Option:
		return storedOption.decode(stored, into)
	case *OptionValues:
		return storedOptionValues.decode(stored, into)
	}
	return false
}

func (l fieldList[T]) decode(stored string, into *T) bool {
	j := jsonReader{rest: stored, nonCanonical: !utf8.ValidString(stored)}
	for next := 0; j.member(); next++ {
		if next = l.find(j.name, next); next < 0 {
			return false
		}
		j.field(&l[next], unsafe.Pointer(into))
	}
	return !j.nonCanonical
}

// find returns the index of a field, or -1. It starts at the next one, because members are stored in the order of the
// fields.
func (l fieldList[T]) find(name string, next int) int {
	for i := next; i < len(l); i++ {
		if l[i].name == name {
			return i
		}
	}
	return slices.IndexFunc(l[:next], func(f field) bool { return f.name == name })
}

// field reads the value of the current member into a field of the struct at the pointer.
func (j *jsonReader) field(f *field, begin unsafe.Pointer) {
	switch f.kind {
	case textKind:
		*at[string](f, begin) = j.text()
	case optionalTextKind:
		*at[*string](f, begin) = new(j.text())
	case numberKind:
		*at[int64](f, begin) = j.int()
	case optionalNumberKind:
		*at[*int64](f, begin) = new(j.int())
	case flagKind:
		*at[bool](f, begin) = j.bool()
	case optionalFlagKind:
		*at[*bool](f, begin) = new(j.bool())
	case amountKind:
		*at[core.Amount](f, begin) = j.amount()
	case optionalAmountKind:
		*at[*core.Amount](f, begin) = new(j.amount())
	case foodTypeKind:
		*at[FoodType](f, begin) = j.foodType()
	case documentKind:
		*at[jsontext.Value](f, begin) = j.document()
	default:
		j.nonCanonical = true
	}
}
