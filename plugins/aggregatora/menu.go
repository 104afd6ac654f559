package main

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// outletMenu is a store with its menu in A's format (README.md).
type outletMenu struct {
	Outlet         outlet          `json:"outlet"`
	Categories     []category      `json:"categories"`
	Products       []product       `json:"products"`
	ModifierGroups []modifierGroup `json:"modifier_groups"`
	Taxes          []adjustment    `json:"taxes"`
	Charges        []adjustment    `json:"charges"`
}

type outlet struct {
	ID        string  `json:"id"`
	Reference string  `json:"reference"`
	Brand     string  `json:"brand,omitempty"`
	Name      string  `json:"name"`
	City      string  `json:"city"`
	Open      bool    `json:"open"`
	Currency  string  `json:"currency,omitempty"`
	Timezone  string  `json:"timezone,omitempty"`
	Hours     []hours `json:"hours,omitzero"`  // absent: always open; empty: never
	Dates     []date  `json:"dates,omitempty"` // replace hours
}

type date struct {
	Date  string   `json:"date"`
	Hours []period `json:"hours"` // empty: closed
	Note  string   `json:"note,omitempty"`
}

type period struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type hours struct {
	Day  string `json:"day"`
	From string `json:"from"`
	To   string `json:"to"`
}

type category struct {
	ID       string  `json:"id"`
	Name     string  `json:"name"`
	Parent   string  `json:"parent,omitempty"`
	Position int64   `json:"position"`
	Hours    []hours `json:"hours,omitzero"` // absent: always on sale; empty: never
}

type product struct {
	ID             string            `json:"id"`
	Name           string            `json:"name"`
	Description    string            `json:"description,omitempty"`
	Price          string            `json:"price"`
	Was            string            `json:"was,omitempty"`
	Categories     []string          `json:"categories"`
	ModifierGroups []string          `json:"modifier_groups,omitempty"`
	Diet           string            `json:"diet,omitempty"`
	Position       int64             `json:"position"`
	Featured       bool              `json:"featured"`
	Stock          *int64            `json:"stock,omitempty"` // absent: not counted
	Image          string            `json:"image,omitempty"`
	Labels         []string          `json:"labels,omitempty"`
	Modes          []string          `json:"modes,omitempty"`
	Nutrition      map[string]string `json:"nutrition,omitempty"`
}

type modifierGroup struct {
	ID        string     `json:"id"`
	Name      string     `json:"name"`
	Min       int64      `json:"min"`
	Max       *int64     `json:"max,omitempty"` // absent: any number
	Repeat    bool       `json:"repeat"`
	Modifiers []modifier `json:"modifiers"`
}

type modifier struct {
	ID             string   `json:"id"`
	Name           string   `json:"name"`
	Price          string   `json:"price"`
	Diet           string   `json:"diet,omitempty"`
	Position       int64    `json:"position"`
	ModifierGroups []string `json:"modifier_groups,omitempty"`
}

type adjustment struct {
	Code     string   `json:"code"`
	Name     string   `json:"name"`
	Value    string   `json:"value"`
	On       string   `json:"on,omitempty"`
	Products []string `json:"products"`
	Modes    []string `json:"modes,omitempty"` // absent: all
}

var diets = map[string]string{"1": "veg", "2": "non_veg", "3": "egg"}

// Render plans the request that replaces the store's menu at A.
func (plugin) Render(_ context.Context, call *sdk.Call, menu *sdk.Menu) (*sdk.Decision, error) {
	var s settings
	if err := sdk.ReadSettings(call, &s); err != nil {
		return nil, err
	}
	body := outletMenu{
		Outlet: renderOutlet(menu.GetStore(), s), Categories: []category{}, Products: []product{},
		ModifierGroups: modifierGroups(menu), Taxes: []adjustment{}, Charges: []adjustment{},
	}
	for _, c := range menu.GetCategories() {
		body.Categories = append(body.Categories,
			category{c.GetRefId(), c.GetName(), c.GetParentRefId(), c.GetSortOrder(), openingHours(c.GetTimings())})
	}
	for _, item := range menu.GetItems() {
		body.Products = append(body.Products, renderProduct(item))
	}
	for _, t := range menu.GetTaxes() {
		body.Taxes = append(body.Taxes,
			adjustment{Code: t.GetCode(), Name: t.GetTitle(), Value: t.GetValue(), Products: nonNil(t.GetItemRefIds())})
	}
	for _, c := range menu.GetCharges() {
		body.Charges = append(body.Charges,
			adjustment{c.GetCode(), c.GetTitle(), c.GetValue(), c.GetApplicableOn(), nonNil(c.GetItemRefIds()),
				c.GetFulfillmentModes()})
	}
	return send(call, http.MethodPut, "/v2/outlets/"+url.PathEscape(body.Outlet.ID)+"/menu", body)
}

func renderOutlet(store *pb.Store, s settings) outlet {
	return outlet{
		ID: cmp.Or(store.GetPlatformStoreId(), store.GetRefId()), Reference: store.GetRefId(), Brand: s.Brand,
		Name: store.GetName(),
		City: store.GetCity(), Open: store.GetActive() &&
			store.GetOrderingEnabled(), Currency: store.GetCurrency(), Timezone: store.GetTimezone(),
		Hours: openingHours(store.GetTimings()), Dates: renderDates(store.GetSpecialTimings()),
	}
}

func renderDates(special []*pb.SpecialTiming) (list []date) {
	for _, d := range special {
		periods := []period{}
		for _, slot := range d.GetSlots() {
			periods = append(periods, period{slot.GetStartTime(), slot.GetEndTime()})
		}
		list = append(list, date{d.GetDate(), periods, d.GetReason()})
	}
	return list
}

// openingHours returns the opening hours of a store or category, or nil if it has none.
func openingHours(timings []*pb.Timing) []hours {
	if len(timings) == 0 {
		return nil
	}
	list := []hours{}
	for _, timing := range timings {
		for _, slot := range timing.GetSlots() {
			list = append(list, hours{timing.GetDay(), slot.GetStartTime(), slot.GetEndTime()})
		}
	}
	return list
}

func renderProduct(item *sdk.Item) product {
	p := product{
		ID: item.GetRefId(), Name: item.GetTitle(), Description: item.GetDescription(), Price: item.GetPrice(),
		Was:        item.GetMarkupPrice(),
		Categories: nonNil(item.GetCategoryRefIds()), ModifierGroups: item.GetOptionGroupRefIds(),
		Diet:     diets[item.GetFoodType()],
		Position: item.GetSortOrder(), Featured: item.GetRecommended(), Image: item.GetImgUrl(), Labels: item.GetTags(),
		Modes: item.GetFulfillmentModes(),
	}
	if stock := item.GetCurrentStock(); stock >= 0 {
		p.Stock = &stock
	}
	p.Nutrition, _ = sdk.Values(item.GetKeyValueGroups(), sdk.Nutrition)
	return p
}

// modifierGroups returns the option groups with their options.
func modifierGroups(menu *sdk.Menu) []modifierGroup {
	groups := make([]modifierGroup, 0, len(menu.GetOptionGroups()))
	for _, g := range menu.GetOptionGroups() {
		group := modifierGroup{ID: g.GetRefId(), Name: g.GetTitle(), Min: g.GetMinSelectable(),
			Repeat: g.GetMultiOptionsEnabled(), Modifiers: []modifier{}}
		if most := g.GetMaxSelectable(); most >= 0 {
			group.Max = &most
		}
		groups = append(groups, group)
	}
	at := make(map[string]int, len(groups))
	for i, group := range groups {
		at[group.ID] = i
	}
	for _, o := range menu.GetOptions() {
		for _, ref := range o.GetOptGrpRefIds() {
			if i, known := at[ref]; known {
				groups[i].Modifiers = append(groups[i].Modifiers,
					modifier{o.GetRefId(), o.GetTitle(), o.GetPrice(), diets[o.GetFoodType()], o.GetSortOrder(),
						o.GetNestedOptGrps()})
			}
		}
	}
	return groups
}

// nonNil returns a copy that is encoded as [] rather than null.
func nonNil(names []string) []string { return append([]string{}, names...) }

// InterpretPublish interprets the response to a menu.
func (plugin) InterpretPublish(_ context.Context, _ *sdk.Call, response *sdk.Response) (*sdk.PublishOutcome, error) {
	return readPublishResult(response)
}

// readPublishResult interprets the response to a menu or an availability change.
func readPublishResult(response *sdk.Response) (*sdk.PublishOutcome, error) {
	success, again := sdk.ClassifyStatus(response.GetStatus())
	if again {
		return &sdk.PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_RETRY}, nil
	}
	var answer struct {
		Accepted bool   `json:"accepted"`
		Message  string `json:"message"`
		Problems []struct {
			Kind   string `json:"kind"`
			ID     string `json:"id"`
			Code   string `json:"code"`
			Detail string `json:"detail"`
		} `json:"problems"`
	}
	if err := sdk.ReadJSON("the answer", response.GetBody(), &answer); err != nil && success {
		return nil, err
	}
	outcome := &sdk.PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_FAILED, Message: answer.Message}
	if success && answer.Accepted {
		outcome.State = pb.OutcomeState_OUTCOME_STATE_DONE
	}
	entities := map[string]string{"outlet": "store", "product": "item", "modifier": "option",
		"modifier_group": "option_group"}
	for _, p := range answer.Problems {
		outcome.Errors = append(outcome.Errors,
			&pb.PublishError{Entity: cmp.Or(entities[p.Kind], p.Kind), RefId: p.ID, Code: p.Code, Message: p.Detail})
	}
	return outcome, nil
}
