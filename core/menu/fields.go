package menu

import (
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// The structs of this package declare each field once: its JSON name, its type and, in the tag check of a submitted
// object, its bounds. The struct that has a stored field is its level. Checking, assigning, reading and writing follow
// from the declarations. A menu has tens of thousands of objects, so fields are accessed by offset, not by reflection.

// fieldKind is the type of a field.
type fieldKind int

const (
	otherKind fieldKind = iota // reflection accesses it
	textKind
	optionalTextKind
	numberKind
	optionalNumberKind
	flagKind
	optionalFlagKind
	amountKind
	optionalAmountKind
	foodTypeKind
	optionalFoodTypeKind
	documentKind
	textsKind
)

var fieldKinds = map[reflect.Type]fieldKind{
	reflect.TypeFor[string]():         textKind,
	reflect.TypeFor[*string]():        optionalTextKind,
	reflect.TypeFor[int64]():          numberKind,
	reflect.TypeFor[*int64]():         optionalNumberKind,
	reflect.TypeFor[bool]():           flagKind,
	reflect.TypeFor[*bool]():          optionalFlagKind,
	reflect.TypeFor[core.Amount]():    amountKind,
	reflect.TypeFor[*core.Amount]():   optionalAmountKind,
	reflect.TypeFor[FoodType]():       foodTypeKind,
	reflect.TypeFor[*FoodType]():      optionalFoodTypeKind,
	reflect.TypeFor[jsontext.Value](): documentKind,
	reflect.TypeFor[[]string]():       textsKind,
}

// field is a field of a struct or of a struct that it embeds.
type field struct {
	name   string
	member string // the name in JSON, such as ,"title":
	kind   fieldKind
	typ    reflect.Type
	offset uintptr // in the outer struct
	omit   string  // omitzero, omitempty or "": when it is not written
	bounds bounds
}

// fieldList holds the fields of T, in the order in which the JSON library writes them.
type fieldList[T any] []field

// fieldsOf returns the fields of a struct that have a JSON name.
func fieldsOf[T any]() (list fieldList[T]) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name, omit, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		added := field{name: name, member: `,"` + name + `":`, kind: fieldKinds[f.Type], typ: f.Type, omit: omit,
			bounds: boundsOf(f.Tag.Get("check"))}
		outer := reflect.TypeFor[T]()
		for _, i := range f.Index {
			added.offset += outer.Field(i).Offset
			outer = outer.Field(i).Type
		}
		list = append(list, added)
	}
	return list
}

// names returns the names of the fields, and the others.
func (l fieldList[T]) names(others ...string) []string {
	for i := range l {
		others = append(others, l[i].name)
	}
	return others
}

// at returns the address of a field in the struct at the pointer. V must be its type.
func at[V any](f *field, begin unsafe.Pointer) *V { return (*V)(unsafe.Add(begin, f.offset)) }

// value returns the value of a field of any type.
func (f *field) value(begin unsafe.Pointer) reflect.Value {
	return reflect.NewAt(f.typ, unsafe.Add(begin, f.offset)).Elem()
}

// assignments pair the fields of a stored type with the submitted fields of the same name.
type assignments[Stored, Sent any] []struct{ stored, sent field }

// assignmentsOf returns the assignments to all fields of a stored type but some.
func assignmentsOf[Stored, Sent any](except ...string) (list assignments[Stored, Sent]) {
	submitted := fieldsOf[Sent]()
	for _, stored := range fieldsOf[Stored]() {
		if slices.Contains(except, stored.name) {
			continue
		}
		wanted := stored.typ
		if wanted.Kind() != reflect.Pointer {
			wanted = reflect.PointerTo(wanted)
		}
		i := slices.IndexFunc(submitted, func(f field) bool { return f.name == stored.name })
		if i < 0 || stored.kind != documentKind && submitted[i].typ != wanted {
			panic("menu: " + stored.name + " is stored, but not submitted with this type")
		}
		list = append(list, struct{ stored, sent field }{stored, submitted[i]})
	}
	return list
}

// assign assigns the fields that were sent, and reports whether any differs.
func (l assignments[Stored, Sent]) assign(record *Stored, object *Sent) (changed bool) {
	to, from := unsafe.Pointer(record), unsafe.Pointer(object)
	for i := range l {
		stored, sent := &l[i].stored, &l[i].sent
		switch stored.kind {
		case textKind:
			set(&changed, at[string](stored, to), *at[*string](sent, from))
		case optionalTextKind:
			setOptional(&changed, at[*string](stored, to), *at[*string](sent, from))
		case numberKind:
			set(&changed, at[int64](stored, to), *at[*int64](sent, from))
		case optionalNumberKind:
			setOptional(&changed, at[*int64](stored, to), *at[*int64](sent, from))
		case flagKind:
			set(&changed, at[bool](stored, to), *at[*bool](sent, from))
		case optionalFlagKind:
			setOptional(&changed, at[*bool](stored, to), *at[*bool](sent, from))
		case amountKind:
			setAmount(&changed, at[core.Amount](stored, to), *at[*core.Amount](sent, from))
		case optionalAmountKind:
			setOptionalAmount(&changed, at[*core.Amount](stored, to), *at[*core.Amount](sent, from))
		case foodTypeKind:
			set(&changed, at[FoodType](stored, to), *at[*FoodType](sent, from))
		case documentKind:
			if value := sent.value(from); !value.IsNil() {
				setDocument(&changed, at[jsontext.Value](stored, to), encodeDocument(value.Interface(), true))
			}
		default:
			panic("menu: " + stored.name + " has a type that cannot be stored")
		}
	}
	return changed
}

// Documented replaces {item_values} and {option_values} in a text by the fields whose values belong to a store.
func Documented() *strings.Replacer {
	return strings.NewReplacer("{item_values}", listed(fieldsOf[ItemValues]().names()),
		"{option_values}", listed(fieldsOf[OptionValues]().names()))
}

// listed returns names as code, such as `price` and `available`.
func listed(names []string) string {
	text := "`" + strings.Join(names, "`, `") + "`"
	last := strings.LastIndex(text, ", ")
	return text[:last] + " and" + text[last+1:]
}
