package main

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

const additionalInfo = "Additional Info"

// catalogueBody is a store with its menu in B's format (README.md). Sections contain their items, and items contain
// their options.
type catalogueBody struct {
	MerchantID string     `json:"merchantId,omitempty"`
	Restaurant restaurant `json:"restaurant"`
	Sections   []section  `json:"sections"`
	Fees       []fee      `json:"fees"`
}

type restaurant struct {
	ID       string `json:"id"`
	Ref      string `json:"ref"`
	Name     string `json:"name"`
	TimeZone string `json:"timeZone,omitempty"`
	Accepts  bool   `json:"acceptsOrders"`
	PrepSecs int64  `json:"prepSeconds,omitempty"`
}

type section struct {
	ID       string        `json:"id"`
	Title    string        `json:"title"`
	Order    int64         `json:"order"`
	Dishes   []dish        `json:"dishes"`
	Sections []section     `json:"sections,omitempty"`
	Served   []servingTime `json:"served,omitzero"` // absent: always; empty: never
}

// servingTime is when a section is available on a weekday.
type servingTime struct {
	Weekday string `json:"weekday"`
	From    string `json:"from"`
	Until   string `json:"until"`
}

type money struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

type dish struct {
	ID             string      `json:"id"`
	Title          string      `json:"title"`
	Description    string      `json:"description,omitempty"`
	Price          money       `json:"price"`
	Order          int64       `json:"order"`
	Photo          string      `json:"photo,omitempty"`
	Tags           []string    `json:"tags,omitempty"`
	AdditionalInfo *additional `json:"additionalInfo,omitempty"`
	AddOns         []addOnSet  `json:"addOns,omitempty"`
}

type additional struct {
	Accompaniments string `json:"accompaniments,omitempty"`
	Quantity       string `json:"quantity,omitempty"`
	Unit           string `json:"unit,omitempty"`
}

type addOnSet struct {
	ID     string  `json:"id"`
	Title  string  `json:"title"`
	Min    int64   `json:"min"`
	Max    int64   `json:"max"` // 0: any number
	AddOns []addOn `json:"addOns"`
}

type addOn struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Price money  `json:"price"`
}

type fee struct {
	Code  string `json:"code"`
	Title string `json:"title"`
	Value string `json:"value"`
}

// Render plans the request with the store and its menu. An item appears in each of its sections.
func (plugin) Render(_ context.Context, call *sdk.Call, menu *sdk.Menu) (*sdk.Decision, error) {
	var s settings
	if err := sdk.ReadSettings(call, &s); err != nil {
		return nil, err
	}
	store := menu.GetStore()
	body := catalogueBody{
		MerchantID: s.MerchantID, Sections: newMenuBuilder(menu, s).sections(), Fees: []fee{},
		Restaurant: restaurant{
			ID: cmp.Or(store.GetPlatformStoreId(), store.GetRefId()), Ref: store.GetRefId(), Name: store.GetName(),
			TimeZone: store.GetTimezone(),
			Accepts:  store.GetActive() && store.GetOrderingEnabled(), PrepSecs: store.GetMinPickupTime(),
		},
	}
	leftOut := append(sdk.NestedLeftOut(menu), emptyGroupsLeftOut(menu)...)
	for _, c := range menu.GetCharges() {
		if narrow := chargeScope(c); narrow != "" {
			leftOut = append(leftOut, &sdk.PublishError{Entity: "charge", RefId: c.GetCode(), Code: "charge_scope",
				Message: c.GetTitle() + " of " + c.GetValue() + " " + narrow +
					", and is left out: the aggregator's fees fall on whole orders"})
			continue
		}
		body.Fees = append(body.Fees, fee{c.GetCode(), c.GetTitle(), c.GetValue()})
	}
	decision, err := send(call, catalogue, http.MethodPost,
		"/api/restaurants/"+url.PathEscape(body.Restaurant.ID)+"/catalogue", body)
	if err != nil {
		return nil, err
	}
	decision.LeftOut = leftOut
	return decision, nil
}

// emptyGroupsLeftOut returns an error for each option group with a maximum of 0, which allows no selection. For B, a
// maximum of 0 means any number.
func emptyGroupsLeftOut(menu *sdk.Menu) (list []*sdk.PublishError) {
	offered := map[string]bool{}
	for _, item := range menu.GetItems() {
		for _, ref := range item.GetOptionGroupRefIds() {
			offered[ref] = true
		}
	}
	for _, g := range menu.GetOptionGroups() {
		if g.GetMaxSelectable() == 0 && offered[g.GetRefId()] {
			list = append(list, &sdk.PublishError{Entity: "option_group", RefId: g.GetRefId(),
				Code: "nothing_to_choose",
				Message: g.GetTitle() +
					" lets nothing be chosen (max_selectable is 0), and is left out: " +
					"to the aggregator 0 is any number"})
		}
	}
	return list
}

// chargeScope describes the restriction of a charge that B's fees cannot express, or returns "" for a charge on the
// whole order. A percentage of all items' prices counts as one.
func chargeScope(c *pb.Charge) string {
	items, modes := c.GetItemRefIds(), c.GetFulfillmentModes()
	delivered, fetched := slices.Contains(modes, "delivery"), slices.Contains(modes, "pickup")
	switch {
	case len(items) > 0 && items[0] != "all":
		return "falls on some items only"
	case c.GetApplicableOn() == "item.quantity":
		return "falls on each item"
	case len(modes) == 0 || delivered && (fetched || strings.HasPrefix(c.GetCode(), "DC_")):
		return ""
	}
	return "falls on " + strings.Join(modes, " and ") + " only"
}

// menuBuilder assembles a menu in B's format.
type menuBuilder struct {
	menu      *sdk.Menu
	settings  settings
	addOnSets map[string]addOnSet
}

func newMenuBuilder(menu *sdk.Menu, s settings) menuBuilder {
	k := menuBuilder{menu, s, make(map[string]addOnSet, len(menu.GetOptionGroups()))}
	for _, g := range menu.GetOptionGroups() {
		if g.GetMaxSelectable() == 0 {
			continue // reported by emptyGroupsLeftOut
		}
		k.addOnSets[g.GetRefId()] = addOnSet{g.GetRefId(), g.GetTitle(), g.GetMinSelectable(),
			max(g.GetMaxSelectable(), 0),
			[]addOn{}}
	}
	for _, o := range menu.GetOptions() {
		for _, ref := range o.GetOptGrpRefIds() {
			if set, known := k.addOnSets[ref]; known {
				set.AddOns = append(set.AddOns, addOn{o.GetRefId(), o.GetTitle(), k.price(o.GetPrice())})
				k.addOnSets[ref] = set
			}
		}
	}
	return k
}

func (k menuBuilder) price(amount string) money {
	return money{cmp.Or(amount, "0"), k.menu.GetStore().GetCurrency()}
}

// otherSection is the section of items whose categories are not visible.
const otherSection = "other"

// sections returns the top categories with their subcategories.
func (k menuBuilder) sections() []section {
	shown := map[string]bool{}
	for _, c := range k.menu.GetCategories() {
		shown[c.GetRefId()] = true
	}
	dishes := map[string][]dish{}
	for _, item := range k.menu.GetItems() {
		refs := slices.DeleteFunc(slices.Clone(item.GetCategoryRefIds()), func(ref string) bool { return !shown[ref] })
		if len(refs) == 0 {
			refs = []string{otherSection}
		}
		for _, ref := range refs {
			dishes[ref] = append(dishes[ref], k.dish(item))
		}
	}
	below := map[string][]section{}
	for _, c := range k.menu.GetCategories() {
		if shown[c.GetParentRefId()] {
			below[c.GetParentRefId()] = append(below[c.GetParentRefId()], newSection(c, dishes))
		}
	}
	list := []section{}
	for _, c := range k.menu.GetCategories() {
		if !shown[c.GetParentRefId()] {
			top := newSection(c, dishes)
			top.Sections = below[c.GetRefId()]
			list = append(list, top)
		}
	}
	if rest := dishes[otherSection]; len(rest) > 0 && !shown[otherSection] {
		list = append(list, section{ID: otherSection, Title: "Other", Order: int64(len(list)), Dishes: rest})
	}
	return list
}

func newSection(c *pb.Category, dishes map[string][]dish) section {
	s := section{ID: c.GetRefId(), Title: c.GetName(), Order: c.GetSortOrder(), Dishes: dishes[c.GetRefId()]}
	if s.Dishes == nil {
		s.Dishes = []dish{}
	}
	if len(c.GetTimings()) > 0 {
		s.Served = []servingTime{}
	}
	for _, timing := range c.GetTimings() {
		for _, slot := range timing.GetSlots() {
			s.Served = append(s.Served,
				servingTime{strings.ToUpper(timing.GetDay()), slot.GetStartTime(), slot.GetEndTime()})
		}
	}
	return s
}

func (k menuBuilder) dish(item *sdk.Item) dish {
	d := dish{
		ID: item.GetRefId(), Title: item.GetTitle(), Description: k.description(item), Price: k.price(item.GetPrice()),
		Order: item.GetSortOrder(), Photo: item.GetImgUrl(), Tags: item.GetTags(),
	}
	if values, present := sdk.Values(item.GetKeyValueGroups(), additionalInfo); present {
		d.AdditionalInfo = &additional{values["accompaniments"], values["quantity"], values["quantity_unit"]}
	}
	for _, ref := range item.GetOptionGroupRefIds() {
		if set, known := k.addOnSets[ref]; known {
			d.AddOns = append(d.AddOns, set)
		}
	}
	return d
}

// description returns an item's description with its nutritional values as text, unless the settings turn that off.
func (k menuBuilder) description(item *sdk.Item) string {
	text, nutrition := item.GetDescription(), sdk.NutritionText(item)
	if nutrition == "" || k.settings.Nutrition != nil && !*k.settings.Nutrition {
		return text
	}
	if text != "" {
		text += "\n"
	}
	return text + "Nutrition: " + nutrition
}

// InterpretPublish interprets the response to a menu.
func (plugin) InterpretPublish(_ context.Context, _ *sdk.Call, response *sdk.Response) (*sdk.PublishOutcome, error) {
	return readPublishResult(response), nil
}

// readPublishResult interprets the response to a menu or an availability change.
func readPublishResult(response *sdk.Response) *sdk.PublishOutcome {
	success, again := sdk.ClassifyStatus(response.GetStatus())
	if again {
		return &sdk.PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_RETRY}
	}
	var reply struct {
		Message  string `json:"message"`
		Rejected []struct {
			DishID string `json:"dishId"`
			Reason string `json:"reason"`
		} `json:"rejected"`
	}
	_ = sdk.ReadJSON("the response", response.GetBody(), &reply) // B's 204 has no body
	outcome := &sdk.PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_FAILED, Message: reply.Message}
	if success {
		outcome.State = pb.OutcomeState_OUTCOME_STATE_DONE
	}
	for _, r := range reply.Rejected {
		outcome.Errors = append(outcome.Errors,
			&pb.PublishError{Entity: "item", RefId: r.DishID, Code: "rejected", Message: r.Reason})
	}
	return outcome
}
