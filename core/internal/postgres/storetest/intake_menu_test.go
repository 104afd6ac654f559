package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	intakedb "github.com/servery-hub/servery/core/internal/postgres/intake"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/orders"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/order"
)

const counter = `{"categories":[{"ref_id":"mains","name":"Mains"},{"ref_id":"shut","name":"Shut","active":false},` +
	`{"ref_id":"over","name":"Over","active":false},{"ref_id":"under","name":"Under","parent_ref_id":"over"}],
	"items":[{"ref_id":"dal","title":"Dal","food_type":1,"price":10,"external_price":12,"category_ref_ids":["mains"]},
	         {"ref_id":"naan","title":"Naan","price":2,"platform_pricing":[{"platform":"app","price":3}]},
	         {"ref_id":"late","title":"Late","price":1,"category_ref_ids":["mains","shut"]},{"ref_id":"later",` +
	`"title":"Later","price":1,"category_ref_ids":["under"]},
	         {"ref_id":"few","title":"Few","price":1,"current_stock":2},{"ref_id":"app-only","title":"App only",` +
	`"price":1,"included_platforms":["app"]}],
	"option_groups":[{"ref_id":"heat","title":"Heat","item_ref_ids":["dal"]}],
	"options":[{"ref_id":"hot","title":"Hot","price":0.5,"opt_grp_ref_ids":["heat"]},{"ref_id":"mild",` +
	`"title":"Mild","price":0.25,"available":false,"opt_grp_ref_ids":["heat"]}],
	"taxes":[{"code":"ST_P","title":"Sales Tax","structure":{"value":10},"item_ref_ids":["all"]},{"code":"ST_P",` +
	`"title":"Sales Tax","structure":{"value":5},"item_ref_ids":["naan"]},
	         {"code":"ST_P","title":"Sales Tax","structure":{"value":50},"active":false}],
	"charges":[{"code":"PC_F","title":"Packaging Charge","structure":{"value":0.3,"applicable_on":"item.quantity"},` +
	`"item_ref_ids":["dal"]},
	           {"code":"DC_F","title":"Delivery Charge","structure":{"value":3},"fulfillment_modes":["delivery"],` +
	`"excluded_platforms":["app"]},
	           {"code":"DC_F","title":"Delivery Charge","structure":{"value":99},"item_ref_ids":["few"]},
	           {"code":"DC_P","title":"Delivery Charge","structure":{"value":1,` +
	`"applicable_on":"order.order_subtotal"}}]}`

// placeOrder places one order and reads it.
func (k *menuHarness) placeOrder(intake *intakedb.Intake, a order.PlaceRequest) order.APIOrder {
	k.t.Helper()
	result, err := intake.Place(context.Background(), a)
	require.NoError(k.t, err)
	record, err := orders.New(k.db).Get(context.Background(), k.business, "", result.OrderID)
	require.NoError(k.t, err)
	reading, err := record.ToAPI()
	require.NoError(k.t, err)
	return reading
}

func TestOrderPaysOneValueOfACharge(t *testing.T) {
	k := newMenuHarness(t, hubtest.Database(t, nil), "US")
	k.store("s1")
	k.send("s1", `{"items":[{"ref_id":"dal","title":"Dal","price":10},{"ref_id":"naan","title":"Naan","price":2}]}`)
	charge := func(value, items string) {
		k.send("-1", `{"charges":[{"code":"PC_F","title":"Packaging Charge","structure":{"value":`+value+
			`,"applicable_on":"item.quantity"},"item_ref_ids":["`+items+`"]}]}`)
	}
	intake := newIntake(t, k.db)
	charges := func(id string) string {
		placed := k.placeOrder(intake,
			k.arrival(id, "web", `{"ref_id":"dal","quantity":1},{"ref_id":"naan","quantity":1}`, ""))
		return placed.Order.Details.TotalCharges.String()
	}
	charge("1", "naan")
	charge("2", "all")
	require.Equal(t, "4", charges("1"), "2 for each")
	charge("5", "naan")
	require.Equal(t, "7", charges("2"), "2 for the dal, 5 for the naan")
}

func TestOrderIsPricedByTheStoredMenu(t *testing.T) {
	db := hubtest.Database(t, nil)
	k, otherBusiness := newMenuHarness(t, db, "US"), newMenuHarness(t, db, "US")
	for _, harness := range []*menuHarness{k, otherBusiness} {
		harness.store("s1")
		harness.send("s1", counter)
	}
	otherBusiness.send("s1",
		`{"items":[{"ref_id":"dal","price":77},{"ref_id":"naan","price":77}],"taxes":[{"code":"ST_P",`+
			`"title":"Sales Tax","structure":{"value":33},"item_ref_ids":["all"]}]}`)
	k.send("-1", `{"items":[{"ref_id":"elsewhere","title":"Elsewhere","price":1}]}`)
	intake := newIntake(t, db)
	const both = `{"ref_id":"dal","quantity":2,"options":[{"ref_id":"hot","quantity":2},{"ref_id":"mild"}]},` +
		`{"ref_id":"naan","quantity":1}`

	web := k.placeOrder(intake, k.arrival("1", "web", both, ""))
	details := web.Order.Details
	// 2 × (10 + 2 × 0.5 + 0.25) + 2; 10% of 22.50 and 5% of 2; 2 × 0.30, 3, and 1% of 24.50.
	require.Equal(t, []string{"24.5", "2.35", "3.85", "30.7"},
		[]string{details.Subtotal.String(), details.TotalTaxes.String(), details.TotalCharges.String(),
			details.Total.String()})
	require.Equal(t, []string{"Dal", "1", "10"},
		[]string{web.Order.Items[0].Title, web.Order.Items[0].FoodType, web.Order.Items[0].Price.String()})
	require.NotZero(t, web.Order.Items[0].ID)
	require.Equal(t, "Hot", web.Order.Items[0].Options[0].Title)
	require.Equal(t, []string{"items[0].options[1] unavailable"}, flagsOf(web))

	app := k.placeOrder(intake, k.arrival("1", "app", both, `,"order_type":"pickup"`))
	details = app.Order.Details
	// A pickup order has no delivery charge, even if the charge names no fulfillment modes.
	require.Equal(t, []string{"25.5", "2.4", "0.6", "3"},
		[]string{details.Subtotal.String(), details.TotalTaxes.String(), details.TotalCharges.String(),
			app.Order.Items[1].Price.String()})

	flagged := k.placeOrder(intake,
		k.arrival("2", "web",
			`{"ref_id":"late","quantity":1},{"ref_id":"later","quantity":1},{"ref_id":"few","quantity":3},
		{"ref_id":"app-only","quantity":1},{"ref_id":"elsewhere","quantity":1,"price":1},{"ref_id":"nothing",`+
				`"quantity":1,"price":1}`, ""))
	require.Equal(t, []string{"items[0] unavailable", "items[1] unavailable", "items[2] out_of_stock",
		"items[3] not_listed", "items[4] not_sold", "items[5] not_on_menu"}, flagsOf(flagged))
	require.Equal(t, "102.08", flagged.Order.Details.TotalCharges.String(),
		"a charge on orders with an item: 99, 3 and 1% of 8")

	// In a batch with other orders they have the same totals.
	other := otherBusiness.arrival("1", "web", both, "")
	results, failures := pgtest.PlaceBatch(context.Background(), intake,
		k.arrival("3", "app", both, `,"order_type":"pickup"`), other, k.arrival("3", "web", both, ""))
	require.Equal(t, []error{nil, nil, nil}, failures)
	for n, want := range map[int]core.Amount{0: app.Order.Details.Total, 2: web.Order.Details.Total} {
		record, err := orders.New(db).Get(context.Background(), k.business, "", results[n].OrderID)
		require.NoError(t, err)
		reading, err := record.ToAPI()
		require.NoError(t, err)
		require.True(t, want.Equal(reading.Order.Details.Total.Decimal))
	}
}

func flagsOf(reading order.APIOrder) (list []string) {
	for _, flag := range reading.Flags {
		list = append(list, flag.Path+" "+flag.Code)
	}
	return list
}

func TestOrderIsCheckedAgainstStoredOptionGroups(t *testing.T) {
	db := hubtest.Database(t, nil)
	k, otherBusiness := newMenuHarness(t, db, "US"), newMenuHarness(t, db, "US")
	for _, harness := range []*menuHarness{otherBusiness, k} {
		harness.store("s1")
		harness.send("s1", `{"items":[{"ref_id":"pizza","title":"Pizza","price":9}],
			"option_groups":[{"ref_id":"size","title":"Size","min_selectable":1,"max_selectable":1,`+
			`"item_ref_ids":["pizza"]},{"ref_id":"egg","title":"Egg","min_selectable":1},
				{"ref_id":"dip","title":"Dip","min_selectable":1,"item_ref_ids":["pizza"]},{"ref_id":"other",`+
			`"title":"Other"}],
			"options":[{"ref_id":"large","title":"Large","price":1,"opt_grp_ref_ids":["size"]},{"ref_id":"small",`+
			`"title":"Small","price":0,"opt_grp_ref_ids":["size"],"nested_opt_grps":["egg"]},
				{"ref_id":"runny","title":"Runny","price":1,"opt_grp_ref_ids":["egg"]},{"ref_id":"ice",`+
			`"title":"Ice","price":1,"opt_grp_ref_ids":["other"]}]}`)
	}
	k.send("-1", `{"options":[{"ref_id":"salsa","title":"Salsa","price":1,"opt_grp_ref_ids":["dip"]}]}`)
	intake, n := newIntake(t, db), 0
	flags := func(options string) []string {
		n++
		return flagsOf(k.placeOrder(intake,
			k.arrival(string(rune('a'+n)), "web", `{"ref_id":"pizza","quantity":1,"options":[`+options+`]}`, "")))
	}
	require.Empty(t, flags(`{"ref_id":"small"}`),
		"the store sells no dips, and nested groups have no minimum")
	require.Empty(t, flags(`{"ref_id":"small"},{"ref_id":"runny"}`))
	require.Equal(t, []string{"items[0].options[0] not_on_menu", "items[0].options[1] not_on_menu",
		"items[0] too_few_options"}, flags(`{"ref_id":"runny"},{"ref_id":"ice"}`))
	require.Equal(t, []string{"items[0] too_many_options"}, flags(`{"ref_id":"small"},{"ref_id":"large"}`))
	otherBusiness.send("-1", `{"option_groups":[{"ref_id":"size","active":false}]}`)
	require.Empty(t, flags(`{"ref_id":"large"}`))
	k.send("-1", `{"option_groups":[{"ref_id":"size","active":false}]}`)
	require.Equal(t, []string{"items[0].options[0] unavailable"}, flags(`{"ref_id":"large"}`))
	k.send("s1", `{"options":[{"ref_id":"salsa","price":1}]}`)
	require.Equal(t, []string{"items[0] too_few_options"}, flags(``), "now the store sells a dip")
}

func TestOrderIsCheckedAgainstStoreHoursAndMinimum(t *testing.T) {
	clock := clocktest.New()
	db := hubtest.Database(t, clock)
	k := newMenuHarness(t, db, "US")
	k.store("s1")
	pgtest.Exec(t, db, `UPDATE businesses SET timezone = 'Asia/Kolkata'`)
	intake, n := newIntake(t, db), 0
	flags := func(more string) []string {
		n++
		return flagsOf(k.placeOrder(intake, k.arrival(string(rune('a'+n)), "web", oneCurry, more)))
	}
	require.Equal(t, []string{"items[0] not_on_menu"}, flags(""), "without hours the store is open")
	zone, err := time.LoadLocation("Asia/Kolkata")
	require.NoError(t, err)
	soon := clock.Now().In(zone).Add(time.Hour)
	hours := fmt.Sprintf(`[{"day":%q,"slots":[{"start_time":%q,"end_time":%q}]}]`,
		strings.ToLower(soon.Weekday().String()), soon.Format(time.TimeOnly),
		soon.Add(time.Minute).Format(time.TimeOnly))
	pgtest.Exec(t, db, `UPDATE stores SET timings = ?, min_order_value = 5.5`, hours)
	require.Equal(t, []string{"store_ref_id store_closed", "items[0] not_on_menu", "order_subtotal below_minimum"},
		flags(""))
	require.Equal(t, []string{"items[0] not_on_menu", "order_subtotal below_minimum"},
		flags(fmt.Sprintf(`,"delivery_datetime":%d`, soon.UnixMilli())))
	pgtest.Exec(t, db, `UPDATE businesses SET timezone = 'UTC'`)
	require.Equal(t, []string{"store_ref_id store_closed", "items[0] not_on_menu", "order_subtotal below_minimum"},
		flags(fmt.Sprintf(`,"delivery_datetime":%d`, soon.UnixMilli())))
}

func TestAggregatorOrderUsesTheExternalPrice(t *testing.T) {
	db := hubtest.Database(t, nil)
	b, err := access.Access{Keys: accessdb.New(db), Clock: db.Clock()}.CreateBusiness(context.Background(),
		core.Business{Name: "K", Country: "US", Timezone: "UTC", Currency: "USD"}, "", []string{"aggregator-a"})
	require.NoError(t, err)
	k := newMenuHarness(t, db, "US")
	k.business = b.ID
	k.store("s1")
	k.send("s1", counter)
	reading := k.placeOrder(newIntake(t, db), k.arrival("1", "aggregator-a", `{"ref_id":"dal","quantity":1}`, ""))
	require.Equal(t, "12", reading.Order.Items[0].Price.String())
	require.Equal(t, []order.DeliveryMode{order.PartnerDelivery},
		[]order.DeliveryMode{reading.Order.Details.Platforms[0].DeliveryMode})
}

func TestMenuChangeAppliesToTheNextOrder(t *testing.T) {
	db := hubtest.Database(t, nil)
	k := newMenuHarness(t, db, "US")
	k.store("s1")
	k.send("s1", counter)
	intake, n := newIntake(t, db), 0
	place := func() order.APIOrder {
		n++
		return k.placeOrder(intake, k.arrival(string(rune('a'+n)), "web",
			`{"ref_id":"dal","quantity":1,"options":[{"ref_id":"hot"}]},{"ref_id":"soup","quantity":1,"price":4}`, ""))
	}
	require.Equal(t, []string{"items[1] not_on_menu"}, flagsOf(place()))
	for _, step := range []struct {
		location, body string
		seen           func(order.APIOrder) any
		want           any
	}{
		{"s1", `{"items":[{"ref_id":"soup","title":"Soup","price":5}]}`,
			func(r order.APIOrder) any { return flagsOf(r) }, []string{"items[1].price differs"}},
		{"s1", `{"items":[{"ref_id":"dal","price":11}]}`,
			func(r order.APIOrder) any { return r.Order.Items[0].Price.String() }, "11"},
		{"-1", `{"items":[{"ref_id":"dal","price":1,"platform_pricing":[{"platform":"web","price":13}]}]}`,
			func(r order.APIOrder) any { return r.Order.Items[0].Price.String() }, "13"},
		{"s1", `{"options":[{"ref_id":"hot","price":2}]}`,
			func(r order.APIOrder) any { return r.Order.Items[0].Options[0].Price.String() }, "2"},
		{"-1", `{"taxes":[{"code":"ST_P","title":"Sales Tax","structure":{"value":20},"item_ref_ids":["soup"]}]}`,
			func(r order.APIOrder) any { return r.Order.Items[1].Taxes[0].Value.String() }, "0.8"},
		{"-1", `{"categories":[{"ref_id":"mains","active":false}]}`, func(r order.APIOrder) any { return flagsOf(r) },
			[]string{"items[0] unavailable", "items[1].price differs"}},
		{"s1", `{"items":[{"ref_id":"soup","price":5,"sold_at_store":false}]}`,
			func(r order.APIOrder) any { return flagsOf(r)[1] }, "items[1] not_sold"},
	} {
		k.send(step.location, step.body)
		require.Equal(t, step.want, step.seen(place()), step.body)
	}
}

func TestRepeatedOrderIDReturnsTheFirstOrder(t *testing.T) {
	db := hubtest.Database(t, nil)
	k := newMenuHarness(t, db, "US")
	k.store("s1")
	intake := newIntake(t, db)
	first, err := intake.Place(context.Background(), k.arrival("1", "web", oneCurry, ""))
	require.NoError(t, err)
	again, err := intake.Place(context.Background(), k.arrival("1", "web", `{"ref_id":"unpriced","quantity":1}`, ""))
	require.NoError(t, err)
	require.Equal(t, order.PlaceResult{OrderID: first.OrderID, Duplicate: true}, again)
}

func TestOrderOfAHugeMenuFailsAlone(t *testing.T) {
	db := hubtest.Database(t, nil)
	k, other := newMenuHarness(t, db, "US"), newMenuHarness(t, db, "US")
	var groups []string
	for n := range 205 {
		groups = append(groups, fmt.Sprintf(
			`{"ref_id":"g%d","title":"G","min_selectable":1,"item_ref_ids":["dal"]}`, n))
	}
	for _, harness := range []*menuHarness{k, other} {
		harness.store("s1")
		harness.send("s1", counter)
	}
	other.send("-1", `{"option_groups":[`+strings.Join(groups, ",")+`],"options":[{"ref_id":"mild","price":0,`+
		`"opt_grp_ref_ids":["g0"]}]}`)
	const items = `{"ref_id":"dal","quantity":1},{"ref_id":"naan","quantity":1}`
	_, err := db.Bun().ExecContext(t.Context(), `UPDATE catalogue_entities
		SET record = jsonb_set(record::jsonb, '{description}', to_jsonb(repeat('x', 33 << 20)))::json
		WHERE business_id = ? AND name = 'naan'`, k.business)
	require.NoError(t, err)

	intake := newIntake(t, db)
	const small = `{"ref_id":"few","quantity":1}`
	k.placeOrder(intake, k.arrival("0", "web", small, ""))
	_, failures := pgtest.PlaceBatch(t.Context(), intake, k.arrival("1", "web", items, ""),
		other.arrival("1", "web", items, ""), k.arrival("2", "web", small, ""))
	require.Equal(t, core.Unavailable, core.CodeOf(failures[0]))
	require.NoError(t, failures[1])
	require.NoError(t, failures[2], "its item is cached")
	_, failures = pgtest.PlaceBatch(t.Context(), intake, k.arrival("1", "web", items, ""))
	require.Equal(t, core.Invalid, core.CodeOf(failures[0]))
	require.ErrorContains(t, failures[0], "items are too many for this menu")
	reading := other.placeOrder(intake, other.arrival("2", "web", items, ""))
	require.LessOrEqual(t, len(reading.Flags), 200, "so many groups are compared at most")
}

func TestHugeMenuIsNotReadAsAWhole(t *testing.T) {
	k := newMenuHarness(t, hubtest.Database(t, nil), "US")
	k.send("-1", counter)
	_, err := menus.New(k.db).Menu(t.Context(), k.business, 0)
	require.NoError(t, err)
	_, err = k.db.Bun().ExecContext(t.Context(), `UPDATE catalogue_entities
		SET record = jsonb_set(record::jsonb, '{description}', to_jsonb(repeat('x', 66 << 20)))::json
		WHERE business_id = ? AND name IN ('naan', 'dal')`, k.business)
	require.NoError(t, err)
	_, err = menus.New(k.db).Menu(t.Context(), k.business, 0)
	require.ErrorContains(t, err, "the menu is larger than 128 MiB")
	require.ErrorAs(t, err, new(core.FinalError))
	require.Equal(t, core.Invalid, core.CodeOf(err))
}

func TestLargeMenuIsUsedByOneReader(t *testing.T) {
	db := hubtest.Database(t, nil)
	k, small := newMenuHarness(t, db, "US"), newMenuHarness(t, db, "US")
	elsewhere := newMenuHarness(t, hubtest.Database(t, nil), "US")
	require.Equal(t, k.business, elsewhere.business, "the same id in another database")
	for _, harness := range []*menuHarness{k, small, elsewhere} {
		harness.send("-1", counter)
	}
	pgtest.Exec(t, db, `UPDATE catalogue_entities
		SET record = jsonb_set(record::jsonb, '{description}', to_jsonb(repeat('x', 9 << 20)))::json
		WHERE business_id = ?0 AND name IN ('naan', 'dal')`, k.business)
	read, used := menus.New(db), 0
	use := func(m menu.Menu) error {
		used++
		require.NotEmpty(t, m.Items)
		return nil
	}
	require.NoError(t, read.UseMenu(t.Context(), k.business, 0, func(menu.Menu) error {
		_, err := menus.New(elsewhere.db).Menu(t.Context(), elsewhere.business, 0)
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		require.Equal(t, core.Unavailable, core.CodeOf(read.UseMenu(ctx, k.business, 0, use)))
		require.Zero(t, used)
		return read.UseMenu(t.Context(), small.business, 0, use)
	}), "the first read")
	require.Equal(t, 1, used, "the small one")
	require.NoError(t, read.UseMenu(t.Context(), k.business, 0, use))
	require.Equal(t, 2, used)
}
