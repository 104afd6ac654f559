package menu

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// filled returns a stored record with a value in each field.
func filled[T any]() *T {
	record, amount := new(T), core.Amount{Decimal: decimal.New(125, -1)}
	for n, f := range fieldsOf[T]() {
		switch field := f.value(unsafe.Pointer(record)).Addr().Interface().(type) {
		case *string:
			*field = fmt.Sprintf("Té \"%d\"\n", n)
		case **string:
			*field = new(fmt.Sprintf("\\d\u2028%d", n))
		case *int64:
			*field = int64(n) - 4
		case **int64:
			*field = new(int64(n))
		case *bool:
			*field = true
		case **bool:
			*field = new(true)
		case *core.Amount:
			*field = amount
		case **core.Amount:
			*field = new(amount)
		case *FoodType:
			*field = "3"
		case *jsontext.Value:
			*field = jsontext.Value(`[{"a":"\"}]","b":["\\"],"c":{}},1]`)
		default:
			panic(fmt.Sprintf("%s has type %T: add it to the readers and writers of fields.go", f.name, field))
		}
	}
	return record
}

// submitted returns a valid value of a submitted field, or nil if only an example has one.
func submitted(f field, n int) any {
	number := f.bounds.least + int64(n) + 1
	switch {
	case f.bounds.rule == "link":
		return fmt.Sprintf("https://x.example/%d.png", n)
	case f.kind == optionalTextKind:
		return fmt.Sprintf("text %d", n)
	case f.kind == optionalNumberKind:
		return float64(number)
	case f.kind == optionalAmountKind:
		return float64(number) + 0.25
	case f.kind == optionalFlagKind:
		return true
	}
	return nil
}

// complete adds each field of the type that an object lacks.
func complete[T any](t *testing.T, object any) {
	fields := object.(map[string]any)
	for n, f := range fieldsOf[T]() {
		value := submitted(f, n)
		if _, has := fields[f.name]; !has && !strings.HasPrefix(f.name, "clear_") && f.name != "parent_ref_id" {
			require.NotNil(t, value, "add an example of %s to the menu whole", f.name)
			fields[f.name] = value
		}
	}
}

// completeMenu returns the menu whole with all fields of its first category, item, group and option.
func completeMenu(t *testing.T) string {
	var menu map[string][]any
	require.NoError(t, json.Unmarshal([]byte(whole), &menu))
	complete[CategoryObject](t, menu["categories"][0])
	complete[ItemObject](t, menu["items"][0])
	complete[OptionGroupObject](t, menu["option_groups"][0])
	complete[OptionObject](t, menu["options"][0])
	body, err := json.Marshal(menu, json.Deterministic(true))
	require.NoError(t, err)
	return string(body)
}

// membersOf returns the JSON members of a value.
func membersOf(t *testing.T, value any) (members map[string]any) {
	t.Helper()
	encoded, err := json.Marshal(value)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(encoded, &members))
	return members
}

func TestStoreOverridesEachOfItsValues(t *testing.T) {
	h := newMemoryDB(t, fakeVocabulary(t), "IN")
	h.send(MasterLocation, completeMenu(t))
	h.send("S1", completeMenu(t))
	item := func(location string) map[string]any {
		return membersOf(t, ReadBack(h.scope(location), h.menu(location), View{}).Items[1])
	}
	sent := map[string]any{"ref_id": "tea"}
	master := item(MasterLocation)
	require.Equal(t, "tea", master["ref_id"])
	for n, f := range fieldsOf[ItemObject]() {
		if !slices.Contains(fieldsOf[ItemValues]().names(), f.name) || f.name == "platform_pricing" {
			continue
		}
		sent[f.name] = submitted(f, n+100)
		if before, flag := master[f.name].(bool); flag {
			sent[f.name] = !before
		}
		require.NotEqual(t, master[f.name], sent[f.name], f.name)
	}
	body, err := json.Marshal(map[string]any{"items": []any{sent}})
	require.NoError(t, err)
	h.send("S1", string(body))
	requireContainsAll(t, sent, item("S1"), "the item of the store")
	delete(sent, "available")
	for name := range sent {
		require.Equal(t, master[name], item(MasterLocation)[name], "the item of the master: %s", name)
	}
	for _, shown := range Effective("S1", h.menu("S1"), core.Platform{Name: "web"}, nil).Items {
		require.NotEqual(t, "tea", shown.RefID, "not available")
	}
	h.send("S1", `{"items":[{"ref_id":"tea","price":110.25,"available":true}]}`)
	shown := Effective("S1", h.menu("S1"), core.Platform{Name: "web"}, nil).Items
	at := slices.IndexFunc(shown, func(i EffectiveItem) bool { return i.RefID == "tea" })
	require.GreaterOrEqual(t, at, 0)
	seen := membersOf(t, shown[at])
	for _, name := range fieldsOf[ItemStoreDetails]().names() {
		require.Equal(t, sent[name], seen[name], name)
	}
	for _, name := range fieldsOf[ItemDetails]().names() {
		require.Equal(t, master[name], seen[name], name)
	}
}

// hidden are the fields of the read-back that customers do not see.
var hidden = map[string][]string{
	"category": {"active"},
	"item": {"active", "external_price", "available", "platform_pricing", "sold_at_store", "ref_title", "images",
		"included_platforms"},
	"group":  {"active", "ref_title", "item_ref_ids", "option_ref_ids"},
	"option": {"active", "available", "sold_at_store", "ref_title", "images"},
}

func TestCustomersSeeEveryFieldThatIsNotHidden(t *testing.T) {
	for kind, names := range map[string][2][]string{
		"category": {fieldsOf[APICategory]().names(), fieldsOf[EffectiveCategory]().names()},
		"item":     {fieldsOf[APIItem]().names(), fieldsOf[EffectiveItem]().names()},
		"group":    {fieldsOf[APIOptionGroup]().names(), fieldsOf[EffectiveOptionGroup]().names()},
		"option":   {fieldsOf[APIOption]().names(), fieldsOf[EffectiveOption]().names()},
	} {
		missing := slices.DeleteFunc(names[0], func(name string) bool { return slices.Contains(names[1], name) })
		require.ElementsMatch(t, hidden[kind], missing, "the embedded Details of a %s have what customers see", kind)
	}
}
