package main

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// shopMenu is a store with its menu in C's format (README.md). Its lists are flat and refer to each other. Amounts
// are in minor units.
type shopMenu struct {
	Shop    shop     `json:"shop"`
	Groups  []group  `json:"groups"`
	Dishes  []dish   `json:"dishes"`
	Choices []choice `json:"choices"`
	Extras  []extra  `json:"extras"`
}

type shop struct {
	Code   string `json:"code"`
	Ref    string `json:"ref"`
	Names  names  `json:"names"`
	Zone   string `json:"zone,omitempty"`
	Status int    `json:"status"` // 1 open, 0 closed
}

// names has a name by language. The merchant's own name is under "default".
type names map[string]string

type group struct {
	Code   string    `json:"code"`
	Names  names     `json:"names"`
	Parent string    `json:"parent,omitempty"`
	Seq    int64     `json:"seq"`
	Sale   saleHours `json:"sale,omitzero"` // absent: always
}

// saleHours has the sale times by weekday number, 1 for Monday, as spans such as 11:00:00-15:00:00. A missing day has
// none.
type saleHours map[string][]string

type dish struct {
	Code       string            `json:"code"`
	Names      names             `json:"names"`
	Texts      names             `json:"texts,omitempty"`
	PriceMinor json.Number       `json:"price_minor"`
	Groups     []string          `json:"groups"`
	Choices    []string          `json:"choices,omitempty"`
	Seq        int64             `json:"seq"`
	Stock      int64             `json:"left"` // -1: not counted
	Picture    string            `json:"picture,omitempty"`
	Nutrients  map[string]string `json:"nutrients,omitempty"`
}

type choice struct {
	Code  string `json:"code"`
	Names names  `json:"names"`
	Min   int64  `json:"min"`
	Max   int64  `json:"max"` // -1: any number
}

type extra struct {
	Code       string      `json:"code"`
	Names      names       `json:"names"`
	PriceMinor json.Number `json:"price_minor"`
	Choices    []string    `json:"choices"`
}

// Render plans the request with the store and its menu.
func (plugin) Render(_ context.Context, call *sdk.Call, menu *sdk.Menu) (*sdk.Decision, error) {
	digits, err := minorDigits(call)
	if err != nil {
		return nil, err
	}
	store := menu.GetStore()
	body := shopMenu{
		Shop: shop{Code: cmp.Or(store.GetPlatformStoreId(), store.GetRefId()), Ref: store.GetRefId(),
			Names: namesOf(store.GetName(), store.GetTranslations()), Zone: store.GetTimezone()},
		Groups: []group{}, Dishes: []dish{}, Choices: []choice{}, Extras: []extra{},
	}
	if store.GetActive() && store.GetOrderingEnabled() {
		body.Shop.Status = 1
	}
	for _, c := range menu.GetCategories() {
		body.Groups = append(body.Groups,
			group{c.GetRefId(), namesOf(c.GetName(), c.GetTranslations()), c.GetParentRefId(), c.GetSortOrder(),
				saleHoursOf(c.GetTimings())})
	}
	for _, item := range menu.GetItems() {
		d, err := renderDish(item, digits)
		if err != nil {
			return nil, err
		}
		body.Dishes = append(body.Dishes, d)
	}
	if err := body.addChoices(menu, digits); err != nil {
		return nil, err
	}
	decision, err := send(call, "/gw/menu.replace", body)
	if err != nil {
		return nil, err
	}
	decision.LeftOut = sdk.NestedLeftOut(menu)
	return decision, nil
}

// addChoices adds the option groups of items, with their options. Groups that only options refer to are left out.
func (m *shopMenu) addChoices(menu *sdk.Menu, digits int) error {
	offered := map[string]bool{}
	for _, d := range m.Dishes {
		for _, ref := range d.Choices {
			offered[ref] = true
		}
	}
	for _, g := range menu.GetOptionGroups() {
		if offered[g.GetRefId()] {
			m.Choices = append(m.Choices,
				choice{g.GetRefId(), namesOf(g.GetTitle(), g.GetTranslations()), g.GetMinSelectable(),
					g.GetMaxSelectable()})
		}
	}
	for _, o := range menu.GetOptions() {
		choices := slices.DeleteFunc(slices.Clone(o.GetOptGrpRefIds()), func(ref string) bool { return !offered[ref] })
		if len(choices) == 0 {
			continue
		}
		price, err := sdk.MinorUnits("option "+o.GetRefId()+": price", o.GetPrice(), digits)
		if err != nil {
			return err
		}
		m.Extras = append(m.Extras, extra{o.GetRefId(), namesOf(o.GetTitle(), o.GetTranslations()), price, choices})
	}
	return nil
}

var weekdays = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

func saleHoursOf(timings []*pb.Timing) saleHours {
	if len(timings) == 0 {
		return nil
	}
	w := saleHours{}
	for _, timing := range timings {
		day := strconv.Itoa(slices.Index(weekdays, timing.GetDay()) + 1)
		for _, slot := range timing.GetSlots() {
			w[day] = append(w[day], slot.GetStartTime()+"-"+slot.GetEndTime())
		}
	}
	return w
}

func renderDish(item *sdk.Item, digits int) (dish, error) {
	price, err := sdk.MinorUnits("item "+item.GetRefId()+": price", item.GetPrice(), digits)
	if err != nil {
		return dish{}, err
	}
	d := dish{
		Code: item.GetRefId(), Names: namesOf(item.GetTitle(), item.GetTranslations()), PriceMinor: price,
		Groups:  append([]string{}, item.GetCategoryRefIds()...),
		Choices: item.GetOptionGroupRefIds(), Seq: item.GetSortOrder(), Stock: item.GetCurrentStock(),
		Picture: item.GetImgUrl(),
	}
	d.Nutrients, _ = sdk.Values(item.GetKeyValueGroups(), sdk.Nutrition)
	if item.GetDescription() != "" {
		d.Texts = names{"default": item.GetDescription()}
	}
	for _, t := range item.GetTranslations() {
		if t.GetDescription() != "" {
			if d.Texts == nil {
				d.Texts = names{}
			}
			d.Texts[t.GetLanguage()] = t.GetDescription()
		}
	}
	return d, nil
}

func namesOf(name string, translations []*pb.LocalName) names {
	all := names{"default": name}
	for _, t := range translations {
		if t.GetName() != "" {
			all[t.GetLanguage()] = t.GetName()
		}
	}
	return all
}

// InterpretPublish interprets the response to a menu.
func (plugin) InterpretPublish(_ context.Context, _ *sdk.Call, response *sdk.Response) (*sdk.PublishOutcome, error) {
	return readPublishResult(response)
}

// readPublishResult interprets the response to a menu or an availability change. Code 0 is a success, 1 to 99 mean a
// retry, and any other code is final. Without a code, the plan's rule decides.
func readPublishResult(response *sdk.Response) (*sdk.PublishOutcome, error) {
	success, again := sdk.ClassifyStatus(response.GetStatus())
	if again {
		return &sdk.PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_RETRY}, nil
	}
	var answer struct {
		Code   *int   `json:"code"`
		Msg    string `json:"msg"`
		Failed []struct {
			Dish string `json:"dish"`
			Code int    `json:"code"`
			Msg  string `json:"msg"`
		} `json:"failed"`
	}
	if err := sdk.ReadJSON("the answer", response.GetBody(), &answer); err != nil && success {
		return nil, err
	}
	outcome := &sdk.PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_FAILED, Message: answer.Msg}
	switch {
	case success && answer.Code == nil:
		return nil, sdk.Refusef("the answer: code is required")
	case success && *answer.Code == 0:
		outcome.State = pb.OutcomeState_OUTCOME_STATE_DONE
	case success && *answer.Code < 100:
		outcome.State = pb.OutcomeState_OUTCOME_STATE_RETRY
	}
	for _, f := range answer.Failed {
		outcome.Errors = append(outcome.Errors,
			&pb.PublishError{Entity: "item", RefId: f.Dish, Code: strconv.Itoa(f.Code), Message: f.Msg})
	}
	return outcome, nil
}
