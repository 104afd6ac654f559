package menu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
)

// decodeRow is a body, and a part of the expected error message. An empty message means that it is accepted.
type decodeRow struct{ says, body, message string }

func one(kind, object string) string { return `{"` + kind + `":[{` + object + `}]}` }
func item(rest string) string        { return one("items", `"ref_id":"I-17","price":1`+rest) }
func group(rest string) string       { return one("option_groups", `"ref_id":"G-1"`+rest) }
func option(rest string) string      { return one("options", `"ref_id":"O-1","price":0`+rest) }
func category(rest string) string    { return one("categories", `"ref_id":"C-1"`+rest) }

func checkShapes(t *testing.T, country string, rows []decodeRow) {
	t.Helper()
	rules := Rules{Country: country, Vocabulary: fakeVocabulary(t)}
	for _, row := range rows {
		t.Run(row.says, func(t *testing.T) {
			_, err := Decode([]byte(row.body), MasterScope(), rules)
			if row.message == "" {
				require.NoError(t, err)
				return
			}
			require.Equal(t, core.Invalid, core.CodeOf(err), "%v", err)
			require.Contains(t, err.Error(), row.message)
			require.NotEmpty(t, err.(*core.Error).Violations)
		})
	}
}

func repeat(n int, object string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(object, i)
	}
	return strings.Join(parts, ",")
}

func TestMenuRequestBodyIsValidated(t *testing.T) {
	long := strings.Repeat("é", 256)
	checkShapes(t, "US", []decodeRow{
		{"at least one of the arrays is required", `{}`, "at least one of the arrays"},
		{"null is not sent", `{"items":null,"flush_items":null}`, "at least one of the arrays"},
		{"the other arrays are optional", `{"charges":[]}`, ""},
		{"an empty array counts as present", `{"flush_items":true,"items":[]}`, ""},
		{"a flush needs its array", `{"flush_items":true,"options":[]}`, "flush_items requires the array items"},
		{"a flush that is false needs no array", `{"flush_items":false,"options":[]}`, ""},
		{"real clients send null flushes", `{"flush_items":null,"options":[]}`, ""},
		{"flush is a boolean", `{"flush_items":"yes","items":[]}`, "flush_items must be true or false"},
		{"2000 items pass", `{"items":[` + repeat(2000, `{"ref_id":"%d","price":1}`) + `]}`, ""},
		{"at most 2000 items", `{"items":[` + repeat(2001, `{"ref_id":"%d","price":1}`) + `]}`,
			"items must have at most 2000 objects, not 2001"},
		{"10000 options pass", `{"options":[` + repeat(10000, `{"ref_id":"%d","price":1}`) + `]}`, ""},
		{"at most 10000 options", `{"options":[` + repeat(10001, `{"ref_id":"%d","price":1}`) + `]}`,
			"options must have at most 10000 objects, not 10001"},
		{"20000 categories pass", `{"categories":[` + repeat(20000, `{"ref_id":"%d"}`) + `]}`, ""},
		{"at most 20000 categories", `{"categories":[` + repeat(20001, `{"ref_id":"%d"}`) + `]}`,
			"categories must have at most 20000 objects, not 20001"},
		{"at most 20000 option groups", `{"option_groups":[` + repeat(20001, `{"ref_id":"%d"}`) + `]}`,
			"option_groups must have at most 20000 objects"},
		{"at most 20000 taxes", `{"taxes":[` + repeat(20001, `{"code":"ST_P","structure":{"value":%d}}`) + `]}`,
			"taxes must have at most 20000 objects"},
		{"at most 20000 charges", `{"charges":[` + repeat(20001, `{"code":"PC_F","structure":{"value":%d}}`) + `]}`,
			"charges must have at most 20000 objects"},
		{"unknown fields are ignored", `{"items":[{"ref_id":"a","price":1,"category_id":7}],"x":1}`, ""},
		{"callback_url is checked", `{"items":[],"callback_url":"ftp://x"}`, "callback_url must"},
		{"callback_url may be empty", `{"items":[],"callback_url":""}`, ""},
		{"callback_url may be null", `{"items":[],"callback_url":null}`, ""},
		{"callback_url may be given", `{"items":[],"callback_url":"https://pos.example.com/x"}`, ""},
		{"an object must be an object", `{"items":[7]}`, "items[0]: must be an object"},
		{"ref_id is required", `{"items":[{"price":1}]}`, "items[0]: ref_id is required"},
		{"ref_id must not be blank", `{"items":[{"ref_id":" ","price":1}]}`, "ref_id must not be empty"},
		{"ref_id has at most 255 characters", `{"items":[{"ref_id":"` + long + `","price":1}]}`,
			"ref_id must be at most 255 characters long"},
		{"255 characters may take more bytes", `{"items":[{"ref_id":"` + long[2:] + `","price":1}]}`, ""},
		{"the same ref_id twice in an array", `{"items":[{"ref_id":"a","price":1},{"ref_id":"a","price":2}]}`,
			`items[1] (ref_id "a"): ref_id is the same as in items[0]`},
		{"the same ref_id in two arrays is fine",
			`{"items":[{"ref_id":"a","price":1}],"options":[{"ref_id":"a","price":2}]}`, ""},
		{"the message names the object and its ref_id", `{"items":[{"ref_id":"a","price":1},{"ref_id":"I-17"}]}`,
			`items[1] (ref_id "I-17"): price is required`},
		{"the message counts what else is wrong", `{"items":[{"ref_id":"a"},{"ref_id":"b"}]}`,
			`price is required (and 1 more)`},
	})
}

func TestCategoryFieldsAreValidated(t *testing.T) {
	checkShapes(t, "US", []decodeRow{
		{"name is optional on update, so the shape needs none", category(""), ""},
		{"a name that is sent must say something", category(`,"name":""`), "name must not be empty"},
		{"description is bounded", category(`,"description":"` + strings.Repeat("x", 20001) + `"`),
			"description must be at most 20000"},
		{"sort_order is an integer", category(`,"sort_order":1.5`), "sort_order must be a whole number"},
		{"and may have a zero after the point", category(`,"sort_order":1.0`), ""},
		{"but is no text", category(`,"sort_order":"1"`), "sort_order must be a whole number"},
		{"0 is displayed first", category(`,"sort_order":-1`), "sort_order must be a whole number from 0"},
		{"active is a boolean", category(`,"active":"yes"`), "active must be true or false"},
		{"img_url is a link", category(`,"img_url":"picture.png"`), "img_url must be a full URL"},
		{"an empty img_url says there is none", category(`,"img_url":""`), ""},
		{"no category is its own parent", category(`,"parent_ref_id":"C-1"`), "must not name the category itself"},
		{"a translation has language, name, description",
			category(`,"translations":[{"language":"hi","name":"चाय","description":"x"}]`), ""},
		{"and no title: it is not looked at", category(`,"translations":[{"language":"hi","name":"x","title":5}]`), ""},
		{"the name in a language is a string", category(`,"translations":[{"language":"hi","name":5}]`),
			"translations[0].name must be a string"},
	})
}

func TestItemFieldsAreValidated(t *testing.T) {
	checkShapes(t, "US", []decodeRow{
		{"price is required", one("items", `"ref_id":"a","title":"x"`), "price is required"},
		{"price is a number", one("items", `"ref_id":"a","price":"1"`), "price must be a number"},
		{"price is not negative", one("items", `"ref_id":"a","price":-0.01`), "price must not be negative"},
		{"external_price is not negative", item(`,"external_price":-1`), "external_price must not be negative"},
		{"markup_price is not negative", item(`,"markup_price":-1`), "markup_price must not be negative"},
		{"weight is grams, a float", item(`,"weight":12.5`), ""},
		{"weight is not negative", item(`,"weight":-1`), "weight must not be negative"},
		{"sold_at_store is a boolean", item(`,"sold_at_store":1`), "sold_at_store must be true or false"},
		{"serves is positive", item(`,"serves":-1`), "serves must be a whole number from 1"},
		{"current_stock -1 means never out of stock", item(`,"current_stock":-1`), ""},
		{"current_stock has no other negative", item(`,"current_stock":-2`),
			"current_stock must be a whole number from -1"},
		{"category_ref_ids is a list of strings", item(`,"category_ref_ids":[1]`),
			"category_ref_ids[0] must be a string"},
		{"fulfillment_modes are delivery and pickup", item(`,"fulfillment_modes":["delivery","pickup"]`), ""},
		{"there is no other fulfillment mode", item(`,"fulfillment_modes":["dine_in"]`),
			"fulfillment_modes[0] must be one of: delivery, pickup"},
		{"food_type may be a string", item(`,"food_type":"2"`), ""},
		{"food_type may be an integer", item(`,"food_type":4`), ""},
		{"food_type may have a zero fraction", item(`,"food_type":2.0`), ""},
		{"food_type has no other fraction", item(`,"food_type":2.5`), `food_type must be "1" (vegetarian)`},
		{"food_type ends at 4", item(`,"food_type":5`), `food_type must be "1" (vegetarian)`},
		{"food_type is not a word", item(`,"food_type":"veg"`), `food_type must be "1" (vegetarian)`},
		{"an image has a tag", item(`,"images":[{"url":"https://x.example/a.png"}]`),
			"images[0].tag must not be empty"},
		{"an image has a url", item(`,"images":[{"tag":"default"}]`), "images[0].url is required"},
		{"a tag has one image", item(`,"images":[{"tag":"web","url":"https://x/a"},{"tag":"web","url":"https://x/b"}]`),
			"images[1].tag is given twice"},
		{"tags are lists of strings under names", item(`,"tags":{"default":["new"],"web":["hot","spicy"]}`), ""},
		{"a translation of an item has no name: it is not looked at",
			item(`,"translations":[{"language":"hi","title":"x","name":5}]`), ""},
		{"the title in a language is bounded",
			item(`,"translations":[{"language":"hi","title":"` + strings.Repeat("x", 1001) + `"}]`),
			"translations[0].title must be at most 1000"},
		{"255 characters of a name of tags", item(`,"tags":{"` + strings.Repeat("é", 255) + `":["new"]}`), ""},
		{"a name of tags is bounded", item(`,"tags":{"` + strings.Repeat("é", 256) + `":["new"]}`),
			"tags must have names of 1 to 255 characters"},
		{"a tag is not empty", item(`,"tags":{"default":[""]}`), "tags.default[0] must not be empty"},
		{"a platform price needs its price", item(`,"platform_pricing":[{"platform":"web"}]`),
			"platform_pricing[0].price is required"},
		{"a platform price needs its platform", item(`,"platform_pricing":[{"price":1}]`),
			"platform_pricing[0].platform must not be empty"},
		{"a platform has one price",
			item(`,"platform_pricing":[{"platform":"web","price":1},{"platform":"web","price":2}]`),
			"platform_pricing[1].platform is given twice"},
		{"a platform price is not negative", item(`,"platform_pricing":[{"platform":"web","price":-1}]`),
			"platform_pricing[0].price must not be negative"},
		{"no item is called all", one("items", `"ref_id":"all","price":1`), `ref_id must not be "all"`},
	})
}

func TestOptionGroupAndOptionFieldsAreValidated(t *testing.T) {
	checkShapes(t, "US", []decodeRow{
		{"min_selectable is not negative", group(`,"min_selectable":-2`),
			"min_selectable must be a whole number from 0"},
		{"max_selectable -1 is any number", group(`,"max_selectable":-1,"min_selectable":5`), ""},
		{"max_selectable has no other negative", group(`,"max_selectable":-2`),
			"max_selectable must be a whole number from -1"},
		{"the least is not above the most", group(`,"min_selectable":3,"max_selectable":2`),
			"min_selectable must not be above max_selectable"},
		{"multi_options_enabled does not go with 1 and 1",
			group(`,"min_selectable":1,"max_selectable":1,"multi_options_enabled":true`),
			"multi_options_enabled is not supported"},
		{"multi_options_enabled goes with 0 and 1",
			group(`,"min_selectable":0,"max_selectable":1,"multi_options_enabled":true`), ""},
		{"item_ref_ids is a list of strings", group(`,"item_ref_ids":"a"`), "item_ref_ids must be an array"},
		{"the price of an option is required", one("options", `"ref_id":"a"`), "price is required"},
		{"the weight of an option is an integer", option(`,"weight":1.5`), "weight must be a whole number"},
		{"the food_type of an option is an integer", option(`,"food_type":3`), ""},
		{"an option has no NutritionalInfo",
			option(`,"key_value_groups":[{"group":"NutritionalInfo","key_value_data":[]}]`),
			"key_value_groups[0].group must be one of: Deposit, Nutrition, Servings"},
		{"an option has Servings",
			option(
				`,"key_value_groups":[{"group":"Servings","key_value_data":[{"key":"serve_range_max","value":"2"}]}]`),
			""},
	})
}

func keyValue(group, key, value string) string {
	return item(fmt.Sprintf(`,"key_value_groups":[{"group":%q,"key_value_data":[{"key":%q,"value":%q}]}]`, group, key,
		value))
}

func TestKeyValueGroupsAreValidated(t *testing.T) {
	data := func(pairs string) string {
		return item(`,"key_value_groups":[{"group":"Nutrition","key_value_data":[` + pairs + `]}]`)
	}
	checkShapes(t, "US", []decodeRow{
		{"Servings takes serve_range_min", keyValue("Servings", "serve_range_min", "1"), ""},
		{"Nutrition takes kcal_range_max", keyValue("Nutrition", "kcal_range_max", "100"), ""},
		{"Deposit takes 0.15", keyValue("Deposit", "deposit_charge", "0.15"), ""},
		{"Deposit takes 0.25", keyValue("Deposit", "deposit_charge", "0.25"), ""},
		{"Deposit takes nothing else", keyValue("Deposit", "deposit_charge", "0.20"),
			"value of deposit_charge must be one of: 0.15, 0.25"},
		{"a plugin's group is known once declared", keyValue("NutritionalInfo", "fat_mg", "7000"), ""},
		{"a plugin's allowed values", keyValue("Additional Info", "quantity_unit", "inches"), ""},
		{"a plugin's values that are not allowed", keyValue("Additional Info", "quantity_unit", "miles"),
			"value of quantity_unit must be one of: kg"},
		{"an unknown group", keyValue("Vitamins", "c", "1"),
			"key_value_groups[0].group must be one of: Additional Info, Deposit"},
		{"an unknown key", keyValue("Servings", "serves", "1"),
			"key_value_groups[0].key_value_data[0].key must be one of: serve_range_max, serve_range_min"},
		{"a value is positive", keyValue("Servings", "serve_range_min", "0"),
			"value of serve_range_min must be a positive whole number"},
		{"a value has no sign", keyValue("Servings", "serve_range_min", "-1"), "must be a positive whole number"},
		{"decimals are not allowed", keyValue("Servings", "serve_range_min", "1.0"), "must be a positive whole number"},
		{"a value has at most 15 digits", keyValue("Servings", "serve_range_min", "9999999999999999"),
			"of serve_range_min must be a positive whole number of at most 15 digits, without leading zeros"},
		{"15 digits pass", keyValue("Servings", "serve_range_min", "999999999999999"), ""},
		{"values are strings",
			item(`,"key_value_groups":[{"group":"Servings","key_value_data":[{"key":"serve_range_min","value":1}]}]`),
			"key_value_groups[0].key_value_data[0].value must be a string"},
		{"the least is not above the most",
			data(`{"key":"kcal_range_max","value":"90"},{"key":"kcal_range_min","value":"100"}`),
			"must not have a kcal_range_min above its kcal_range_max"},
		{"the least may be the most",
			data(`{"key":"kcal_range_max","value":"100"},{"key":"kcal_range_min","value":"100"}`), ""},
		{"a key occurs once", data(`{"key":"kcal_range_max","value":"1"},{"key":"kcal_range_max","value":"1"}`),
			"key_value_data[1].key is given twice"},
	})
}

func tax(rest string) string    { return one("taxes", `"structure":{"value":5},`+rest) }
func charge(rest string) string { return one("charges", `"title":"Delivery Charge",`+rest) }

func TestTaxCodesAndTitlesAreValidatedByCountry(t *testing.T) {
	for country, rows := range map[string][]decodeRow{
		"US": {
			{"ST_P with exactly Sales Tax", tax(`"code":"ST_P","title":"Sales Tax"`), ""},
			{"the case does not matter", tax(`"code":"ST_P","title":"sales TAX"`), ""},
			{"Sales Tax and nothing more", tax(`"code":"ST_P","title":"Sales Tax 5"`), "title must be Sales Tax"},
			{"no other code", tax(`"code":"GST_P","title":"GST"`), "code must be one of: ST_P"},
			{"a title is not needed for an update", tax(`"code":"ST_P"`), ""},
			{"code is required", tax(`"title":"Sales Tax"`), "code is required"},
			{"structure is required", one("taxes", `"code":"ST_P"`), "structure is required"},
			{"value is required", one("taxes", `"code":"ST_P","structure":{}`), "structure.value is required"},
			{"value is a number", one("taxes", `"code":"ST_P","structure":{"value":"5"}`),
				"structure.value must be a number"},
			{"value is not negative", one("taxes", `"code":"ST_P","structure":{"value":-5}`),
				"structure.value must not be negative"},
			{"all means all items", tax(`"code":"ST_P","item_ref_ids":["all"]`), ""},
			{"all stands alone", tax(`"code":"ST_P","item_ref_ids":["all","a"]`),
				`item_ref_ids must not have other elements beside "all"`},
			{"one tax may occur twice",
				`{"taxes":[{"code":"ST_P","structure":{"value":5}},{"code":"ST_P","structure":{"value":5.0}}]}`, ""},
			{"two rates of one code are two taxes",
				`{"taxes":[{"code":"ST_P","structure":{"value":5}},{"code":"ST_P","structure":{"value":6}}]}`, ""},
		},
		"CA": {
			{"GST_P with exactly GST", tax(`"code":"GST_P","title":"gst"`), ""},
			{"GST and nothing more", tax(`"code":"GST_P","title":"GST/HST"`), "title must be GST"},
		},
		"IN": {
			{"CGST_P", tax(`"code":"CGST_P","title":"CGST"`), ""},
			{"SGST_P", tax(`"code":"SGST_P","title":"Kerala flood cess"`), ""},
			{"IGST_P", tax(`"code":"IGST_P","title":"MUNICIPALITY"`), ""},
			{"the title contains one of the words", tax(`"code":"IGST_P","title":"Tax"`), "title must contain SGST"},
			{"a single GST code is not supported", tax(`"code":"GST_P","title":"GST"`),
				"code must be one of: CGST_P, SGST_P, IGST_P"},
		},
		"GB": {
			{"VAT_P with vat in the title", tax(`"code":"VAT_P","title":"UK Vat 20%"`), ""},
			{"the title contains vat", tax(`"code":"VAT_P","title":"Tax"`), "title must contain VAT"},
			{"no other code", tax(`"code":"ST_P","title":"Sales Tax"`), "code must be one of: VAT_P"},
		},
	} {
		t.Run(country, func(t *testing.T) { checkShapes(t, country, rows) })
	}
}

func TestChargeFieldsAreValidated(t *testing.T) {
	with := func(code, on string) string {
		return charge(`"code":"` + code + `","structure":{"value":5` + on + `}`)
	}
	checkShapes(t, "US", []decodeRow{
		{"an item-level percentage uses item.price", with("PC_P", `,"applicable_on":"item.price"`), ""},
		{"a percentage of the order", with("DC_P", `,"applicable_on":"order.order_subtotal"`), ""},
		{"a percentage is not of a quantity", with("DC_P", `,"applicable_on":"item.quantity"`),
			"structure.applicable_on must be item.price or order.order_subtotal"},
		{"an item-level fixed charge uses item.quantity", with("PC_F", `,"applicable_on":"item.quantity"`), ""},
		{"an order-level fixed charge omits it", with("DC_F", ``), ""},
		{"order.order_subtotal on a fixed charge is order level",
			with("DC_F", `,"applicable_on":"order.order_subtotal"`), ""},
		{"a fixed charge is not of a price", with("PC_F", `,"applicable_on":"item.price"`),
			"structure.applicable_on must be item.quantity"},
		{"an unknown applicable_on", with("PC_P", `,"applicable_on":"weight"`), "structure.applicable_on must be"},
		{"the four codes and no other", with("XC_F", ``), "code must be one of: PC_F, PC_P, DC_F, DC_P"},
		{"structure is required", charge(`"code":"PC_F"`), "structure is required"},
		{"the title is one of two, in any case",
			one("charges", `"code":"PC_F","title":"packaging charge","structure":{"value":1}`), ""},
		{"no other title", one("charges", `"code":"PC_F","title":"Bag","structure":{"value":1}`),
			"title must be one of: Packaging Charge, Delivery Charge"},
		{"fulfillment_modes are delivery and pickup",
			charge(`"code":"DC_F","structure":{"value":1},"fulfillment_modes":["drone"]`),
			"fulfillment_modes[0] must be one of"},
		{"the two spellings of order level are one charge",
			`{"charges":[{"code":"DC_F","structure":{"value":1}},{"code":"DC_F","structure":{"value":1,` +
				`"applicable_on":"order.order_subtotal"}}]}`,
			"charges[1]: code and structure are the same as in charges[0]"},
	})
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `null`, item(`,"title":"x"`), group(`,"item_ref_ids":["a"]`), option(`,"nested_opt_grps":["a"]`),
		category(`,"translations":[{"language":"hi","name":"x"}]`), tax(`"code":"ST_P","title":"Sales Tax"`),
		charge(`"code":"PC_F","structure":{"value":1}`), keyValue("Nutrition", "kcal_range_min", "5"),
		`{"items":[{"ref_id":"a","price":1e30}]}`, `{"items":[{"ref_id":"\ud800","price":1}]}`,
		`{"flush_items":true,"items":[]}`,
		item(`,"images":[{"tag":"default","url":"https://x/a"}],"tags":{"web":["a"]},` +
			`"platform_pricing":[{"platform":"web","price":2}]`),
	} {
		f.Add([]byte(seed), false)
	}
	vocabulary := fakeVocabulary(f)
	f.Fuzz(func(t *testing.T, body []byte, atStore bool) {
		h := newMemoryDB(t, vocabulary, "US")
		scope := MasterScope()
		if atStore {
			scope = h.scope("S1")
		}
		request, err := Decode(body, scope, h.rules)
		if err != nil {
			require.Equal(t, core.Invalid, core.CodeOf(err))
			return
		}
		plan := h.plan(request)
		h.write(plan)
		callback, err := Callback(core.ID{}, request, plan, Findings{})
		require.NoError(t, err)
		eventtest.Check(t, core.InventoryUpdate, callback)
		_, err = Decode(callback, scope, h.rules) // a callback is a valid request
		require.NoError(t, err)
	})
}
