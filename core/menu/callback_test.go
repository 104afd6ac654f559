package menu

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/eventtest"
)

var reference = uuid.MustParse("0190f3a0-0000-7000-8000-000000000001")

func TestCallbackReportsTheOutcomeOfEachObject(t *testing.T) {
	h := newMemoryDB(t, fakeVocabulary(t), "IN")
	h.send("S1", two)
	request, plan := h.send("S1", `{"flush_items":true,"flush_taxes":true,"taxes":[],"items":[
		{"ref_id":"tea", "price":1, "unknown":{"a":[1, 2]}, "upipr_status":{"action":"A"}},
		{"ref_id":"new","price":2}, {"ref_id":"pie","title":"\u0050ie","price":3}, {"ref_id":"nut","title":"Nut",`+
		`"price":3,"sold_at_store":false}]}`)
	findings := Findings{Items: {2: {{Platform: "tasty-eats", Rule: "nutrition", Message: "fat_mg is missing"}}}}
	body, err := Callback(reference, request, plan, findings)
	require.NoError(t, err)
	eventtest.Check(t, core.InventoryUpdate, body)
	require.JSONEq(t, `{
		"reference":"0190f3a0-0000-7000-8000-000000000001","location_ref_id":"S1",
		"stats":{"categories":{"created":0,"updated":0,"deleted":0,"errors":0},"items":{"created":2,"updated":1,`+
		`"deleted":1,"errors":1},
			"option_groups":{"created":0,"updated":0,"deleted":0,"errors":0},"options":{"created":0,"updated":0,`+
		`"deleted":0,"errors":0},
			"taxes":{"created":0,"updated":0,"deleted":0,"errors":0},"charges":{"created":0,"updated":0,"deleted":0,`+
		`"errors":0}},
		"items":[
			{"ref_id":"tea","price":1,"unknown":{"a":[1,2]},"upipr_status":{"action":"U","id":1,"error":false}},
			{"ref_id":"new","price":2,"upipr_status":{"action":"A","error":true,`+
		`"err_msg":"title is required to create an item"}},
			{"ref_id":"pie","title":"Pie","price":3,"upipr_status":{"action":"A","id":4,"error":false},
				"platform_findings":[{"platform":"tasty-eats","rule":"nutrition","message":"fat_mg is missing"}]},
			{"ref_id":"nut","title":"Nut","price":3,"sold_at_store":false,"upipr_status":{"action":"A","id":5,`+
		`"error":false}}],
		"taxes":[],
		"warnings":[{"path":"flush_taxes",`+
		`"message":"flush_taxes has no effect in a store request: it is for the master catalogue"}]}`,
		string(body))
	require.Contains(t, string(body), `"title":"\u0050ie"`, "objects keep their text")
}

func TestFailedRequestIsReportedPerObject(t *testing.T) {
	h := newMemoryDB(t, fakeVocabulary(t), "IN")
	h.send(MasterLocation, tea)
	request, err := Decode([]byte(two), MasterScope(), h.rules)
	require.NoError(t, err)
	plan := Failed(request, h.load(request), "the hub gave up")
	require.Equal(t, []Outcome{{Action: "U", Message: "the hub gave up"}, {Action: "A", Message: "the hub gave up"}},
		plan.Outcomes[Items])
	require.False(t, plan.HasChanges())
	body, err := Callback(reference, request, plan, Findings{})
	require.NoError(t, err)
	eventtest.Check(t, core.InventoryUpdate, body)
}

func TestPreviewMatchesTheActualChanges(t *testing.T) {
	h := newMemoryDB(t, fakeVocabulary(t), "IN")
	h.send("S1", two)
	h.send("S2", two)
	before := h.lines()
	request, err :=
		Decode([]byte(`{"flush_items":true,"items":[{"ref_id":"tea","price":10},{"ref_id":"pie","title":"Pie",`+
			`"price":3},{"ref_id":"x","price":1}],
		"option_groups":[{"ref_id":"G","title":"g","item_ref_ids":["tea"]}]}`), MasterScope(), h.rules)
	require.NoError(t, err)
	state := h.load(request)
	preview := NewPreview(request, state, h.plan(request))
	require.Equal(t, before, h.lines())
	encoded, err := json.Marshal(preview)
	require.NoError(t, err)
	require.JSONEq(t, `{"location_ref_id":"-1",
		"kinds":{"items":{"stats":{"created":1,"updated":1,"deleted":2,"errors":1},"created":["pie"],"updated":[],`+
		`"unchanged":1,
			"deactivated":["cake"],"disassociated":[{"ref_id":"tea","stores":2},{"ref_id":"cake","stores":2}],
			"errors":[{"ref_id":"x","message":"title is required to create an item"}]},
		"option_groups":{"stats":{"created":1,"updated":0,"deleted":0,"errors":0},"created":["G"],"updated":[],`+
		`"unchanged":0,"deactivated":[],"disassociated":[],"errors":[]}},
		"associations":{"item_categories":{"added":0,"removed":0},"option_group_items":{"added":1,"removed":0},`+
		`"option_group_options":{"added":0,"removed":0},
			"nested_option_groups":{"added":0,"removed":0},"tax_items":{"added":0,"removed":0},`+
		`"charge_items":{"added":0,"removed":0}}}`, string(encoded))

	request, err = Decode([]byte(`{"flush_items":true,"items":[{"ref_id":"tea","price":11}]}`), h.scope("S1"), h.rules)
	require.NoError(t, err)
	items := NewPreview(request, h.load(request), h.plan(request)).Kinds["items"]
	require.Equal(t, []string{"tea"}, items.Updated)
	require.Equal(t, []Disassociation{{"cake", 1}}, items.Disassociated)
}

const whole = `{"categories":[{"ref_id":"C","name":"Drinks","description":"d","sort_order":2,"active":true,` +
	`"img_url":"https://x.example/c.png","translations":[{"language":"hi","name":"पेय","description":"x"}]},
	{"ref_id":"D","name":"Hot","parent_ref_id":"C"}],
	"items":[{"ref_id":"tea","title":"Tea","price":10.25,"external_price":12,"markup_price":15,"ref_title":"t",` +
	`"description":"d","weight":12.5,"available":true,
		"sort_order":1,"serves":2,"current_stock":5,"category_ref_ids":["D"],"fulfillment_modes":["delivery",` +
	`"pickup"],"food_type":1,"recommended":true,
		"images":[{"tag":"default","url":"https://x.example/d.png"},{"tag":"web","url":"https://x.example/w.png"}],` +
	`"img_url":"https://x.example/p.png",
		"translations":[{"language":"hi","title":"चाय","description":"x"}],"tags":{"default":["new"],"web":["hot"]},` +
	`"included_platforms":["web","tasty-eats"],
		"platform_pricing":[{"platform":"tasty-eats","price":13}],"key_value_groups":[{"group":"Servings",` +
	`"key_value_data":[{"key":"serve_range_max","value":"2"}]}]},
		{"ref_id":"cake","title":"Cake","price":20}],
	"option_groups":[{"ref_id":"G","title":"Milk","description":"d","min_selectable":0,"max_selectable":2,` +
	`"multi_options_enabled":true,"sort_order":3,"active":true,"ref_title":"m",
		"display_inline":true,"item_ref_ids":["tea"],"translations":[{"language":"hi","title":"दूध"}]},` +
	`{"ref_id":"H","title":"Foam"}],
	"options":[{"ref_id":"soy","title":"Soy","price":1.5,"description":"d","available":true,"sort_order":4,` +
	`"weight":20,"images":[{"tag":"web","url":"https://x.example/s.png"}],
		"img_url":"https://x.example/o.png","food_type":"1","recommended":true,"ref_title":"s",` +
	`"translations":[{"language":"hi","title":"सोया"}],
		"opt_grp_ref_ids":["G"],"nested_opt_grps":["H"],"key_value_groups":[{"group":"Deposit",` +
	`"key_value_data":[{"key":"deposit_charge","value":"0.25"}]}]},
		{"ref_id":"big","title":"Big","price":0,"opt_grp_ref_ids":["H"]}],
	"taxes":[{"code":"CGST_P","title":"CGST","description":"d","active":true,"structure":{"value":2.5},` +
	`"item_ref_ids":["all"]}],
	"charges":[{"code":"PC_P","title":"Packaging Charge","description":"d","active":true,"structure":{"value":1.5,` +
	`"applicable_on":"item.price"},"fulfillment_modes":["delivery"],"excluded_platforms":["web"],` +
	`"item_ref_ids":["tea"]}]}`

// requireContainsAll checks that got has every member of sent, with the same value.
func requireContainsAll(t *testing.T, sent, got any, path string) {
	t.Helper()
	switch sent := sent.(type) {
	case map[string]any:
		for name, value := range sent {
			member, has := got.(map[string]any)[name]
			require.True(t, has, path+"."+name)
			if name == "food_type" {
				if n, isNumber := value.(float64); isNumber {
					value = string(rune('0' + int(n)))
				}
			}
			requireContainsAll(t, value, member, path+"."+name)
		}
	default:
		require.Equal(t, sent, got, path)
	}
}

func TestReadBackReturnsEveryFieldAsSent(t *testing.T) {
	bodies := map[string]string{"whole": completeMenu(t)}
	for _, name := range []string{"menu-drinks.json", "menu-indian-foods.json", "menu-square-sample.json"} {
		bodies[name] = name
	}
	for name, body := range bodies {
		for _, location := range []string{MasterLocation, "S1"} {
			t.Run(name+" "+location, func(t *testing.T) {
				country := "IN"
				if strings.HasSuffix(name, ".json") {
					body = string(realFile(t, name))
				}
				if strings.Contains(body, "ST_P") && !strings.Contains(body, "GST_P") {
					country = "US"
				}
				h := newMemoryDB(t, fakeVocabulary(t), country)
				h.send(location, body)
				encoded, err := json.Marshal(ReadBack(h.scope(location), h.menu(location), View{}))
				require.NoError(t, err)
				var sent, got map[string]any
				require.NoError(t, json.Unmarshal([]byte(body), &sent))
				require.NoError(t, json.Unmarshal(encoded, &got))
				require.Equal(t, location, got["location_ref_id"])
				for _, kind := range Kinds() {
					objects, _ := sent[kind.String()].([]any)
					read := map[any]any{}
					for _, o := range got[kind.String()].([]any) {
						read[nameOf(o)] = o
						require.NotZero(t, o.(map[string]any)["id"])
						require.Contains(t, o, "active")
					}
					require.Len(t, read, len(objects), kind)
					for _, o := range objects {
						requireContainsAll(t, o, read[nameOf(o)], kind.String())
					}
				}
			})
		}
	}
}

func nameOf(object any) any {
	o := object.(map[string]any)
	if ref, has := o["ref_id"]; has {
		return ref
	}
	return o["code"]
}

func TestStoreReadBackContainsOnlyItsOwnData(t *testing.T) {
	h := newMemoryDB(t, fakeVocabulary(t), "IN")
	h.send(MasterLocation, whole)
	h.send("S1",
		`{"items":[{"ref_id":"tea","price":11,"sort_order":9}],"options":[{"ref_id":"big","price":2,`+
			`"available":false}]}`)
	r := ReadBack(h.scope("S1"), h.menu("S1"), View{})
	require.Empty(t, r.Categories)
	require.Len(t, r.Items, 1)
	require.Equal(t, []any{"11", int64(9), "12", true},
		[]any{r.Items[0].Price.String(), r.Items[0].SortOrder, r.Items[0].ExternalPrice.String(),
			*r.Items[0].SoldAtStore})
	require.JSONEq(t, `[{"platform":"tasty-eats","price":13}]`, string(r.Items[0].PlatformPricing))
	require.Equal(t, []string{"D"}, r.Items[0].CategoryRefIDs)
	require.Equal(t, []string{"G"}, r.Items[0].OptionGroupRefIDs)
	require.Len(t, r.OptionGroups, 2, "one on the item, one on the option")
	require.Equal(t, []string{"soy"}, r.OptionGroups[0].OptionRefIDs)
	require.Len(t, r.Options, 1)
	require.False(t, r.Options[0].Available)
	require.Len(t, r.Taxes, 1)
	require.Len(t, r.Charges, 1)
	h.send(MasterLocation,
		`{"charges":[{"code":"PC_F","title":"Packaging Charge","structure":{"value":1,`+
			`"applicable_on":"item.quantity"}},{"code":"DC_F","title":"Delivery Charge","structure":{"value":1}}]}`)
	charges := ReadBack(h.scope("S2"), h.menu("S2"), View{}).Charges
	require.Len(t, charges, 1, "the others are on tea, and on no item")
	require.Equal(t, "DC_F", charges[0].Code)
}

func TestReadBackIsPaged(t *testing.T) {
	h := newMemoryDB(t, fakeVocabulary(t), "IN")
	h.send(MasterLocation, whole)
	var seen []string
	for after := ""; ; {
		view, err := ParseView("", "3", after)
		require.NoError(t, err)
		r := ReadBack(MasterScope(), h.menu(MasterLocation), view)
		for _, c := range r.Categories {
			seen = append(seen, c.RefID)
		}
		for _, i := range r.Items {
			seen = append(seen, i.RefID)
		}
		for _, g := range r.OptionGroups {
			seen = append(seen, g.RefID)
		}
		for _, o := range r.Options {
			seen = append(seen, o.RefID)
		}
		for _, x := range r.Taxes {
			seen = append(seen, x.Code)
		}
		for _, x := range r.Charges {
			seen = append(seen, x.Code)
		}
		if after = r.Next; after == "" {
			break
		}
		require.Zero(t, len(seen)%3)
	}
	require.Equal(t, []string{"C", "D", "cake", "tea", "G", "H", "big", "soy", "CGST_P", "PC_P"}, seen)

	view, err := ParseView("items, options", "", "")
	require.NoError(t, err)
	encoded, err := json.Marshal(ReadBack(MasterScope(), Menu{}, view))
	require.NoError(t, err)
	require.JSONEq(t, `{"location_ref_id":"-1","items":[],"options":[]}`, string(encoded))
	for _, wrong := range [][3]string{{"stores", "", ""}, {"", "0", ""}, {"", "x", ""}, {"", "", "items"},
		{"", "", "stores:a"}} {
		_, err := ParseView(wrong[0], wrong[1], wrong[2])
		require.Error(t, err, wrong)
	}
}
