package aggregator

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// storeForPlugin converts a store for rendering by a plugin.
func storeForPlugin(s StoreMenu) *pb.Store {
	o := s.Store.Object
	out := &pb.Store{
		RefId: *o.RefID, PlatformStoreId: s.PlatformStoreID, Name: *o.Name, City: *o.City,
		Address:      stringOrEmpty(o.Address),
		ContactPhone: stringOrEmpty(o.ContactPhone),
		Latitude:     degreesText(o.Latitude), Longitude: degreesText(o.Longitude), Active: *o.Active,
		OrderingEnabled: *o.OrderingEnabled,
		Currency:        s.Currency, Timezone: s.Timezone, Timings: timingsForPlugin(o.Timings),
		MinOrderValue: amountText(o.MinOrderValue), MinPickupTime: intOrZero(o.MinPickupTime),
		MinDeliveryTime: intOrZero(o.MinDeliveryTime),
	}
	for _, d := range o.SpecialTimings {
		out.SpecialTimings = append(out.SpecialTimings,
			&pb.SpecialTiming{Date: d.Date, Slots: slotsForPlugin(d.Slots), Reason: d.Reason})
	}
	for _, t := range o.Translations {
		out.Translations = append(out.Translations, &pb.LocalName{Language: t.Language, Name: t.Name})
	}
	return out
}

func timingsForPlugin(hours []core.DayHours) (list []*pb.Timing) {
	for _, h := range hours {
		list = append(list, &pb.Timing{Day: h.Day, Slots: slotsForPlugin(h.Slots)})
	}
	return list
}

func slotsForPlugin(slots []core.HoursSlot) (list []*pb.Slot) {
	for _, slot := range slots {
		list = append(list, &pb.Slot{StartTime: slot.StartTime, EndTime: slot.EndTime})
	}
	return list
}

func effectiveItemForPlugin(i *menu.EffectiveItem) (*sdk.Item, error) {
	out := &sdk.Item{
		RefId: i.RefID, Price: i.Price.String(), MarkupPrice: amountText(i.MarkupPrice),
		ImgUrl: i.ImgURL, Tags: i.Tags, CategoryRefIds: i.CategoryRefIDs, OptionGroupRefIds: i.OptionGroupRefIDs,
	}
	var err error
	if out.Translations, err = localNames(i.Translations); err != nil {
		return nil, err
	}
	return out, itemDetails(out, &i.ItemDetails, &i.ItemStoreDetails)
}

// itemDetails sets what a plugin gets of both an item to check and an item to render.
func itemDetails(out *sdk.Item, d *menu.ItemDetails, s *menu.ItemStoreDetails) (err error) {
	out.Title, out.Description = d.Title, stringOrEmpty(d.Description)
	out.Weight, out.Serves, out.FoodType = amountText(d.Weight), intOrZero(d.Serves), string(d.FoodType)
	out.SortOrder, out.Recommended, out.CurrentStock = s.SortOrder, s.Recommended, s.CurrentStock
	if out.KeyValueGroups, err = groupsForPlugin(d.KeyValueGroups); err != nil {
		return err
	}
	return decodeStored(d.FulfillmentModes, &out.FulfillmentModes)
}

func effectiveOptionForPlugin(o *menu.EffectiveOption) (out *pb.Option, err error) {
	out = &pb.Option{
		RefId: o.RefID, Title: o.Title, Description: stringOrEmpty(o.Description), Price: o.Price.String(),
		Weight: intOrZero(o.Weight), FoodType: string(o.FoodType),
		SortOrder: o.SortOrder, Recommended: o.Recommended, ImgUrl: o.ImgURL, OptGrpRefIds: o.OptGrpRefIDs,
		NestedOptGrps: o.NestedOptGrps,
	}
	if out.Translations, err = localNames(o.Translations); err != nil {
		return nil, err
	}
	out.KeyValueGroups, err = groupsForPlugin(o.KeyValueGroups)
	return out, err
}

func localNames(stored jsontext.Value) (list []*pb.LocalName, err error) {
	var translations []struct { // of items and options, or of categories
		menu.TitledTranslation
		Name *string `json:"name"`
	}
	if err := decodeStored(stored, &translations); err != nil {
		return nil, err
	}
	for _, t := range translations {
		name := t.Name
		if name == nil {
			name = t.Text
		}
		list = append(list, &pb.LocalName{Language: t.Language, Name: stringOrEmpty(name),
			Description: stringOrEmpty(t.Description)})
	}
	return list, nil
}

func amountText(a *core.Amount) string {
	if a == nil {
		return ""
	}
	return a.String()
}

func degreesText(d *float64) string {
	if d == nil {
		return ""
	}
	return strconv.FormatFloat(*d, 'f', -1, 64)
}
