package order

import (
	"cmp"
	"fmt"

	"github.com/shopspring/decimal"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/menu"
)

// priceLines prices the items.
func (pr *pricer) priceLines() error {
	pr.items = make([]Item, len(pr.draft.Items))
	var v core.Violations
	for i := range pr.draft.Items {
		p := fieldPath{core.Object{Array: "items", Index: i, RefID: string(pr.draft.Items[i].RefID)}, &v, ""}
		pr.items[i] = pr.item(&pr.draft.Items[i], p, fmt.Sprintf("items[%d]", i))
	}
	return v.Err()
}

const priceRequired = "is required: the store's menu has no such "

func (pr *pricer) item(line *Line, p fieldPath, path string) Item {
	refID := string(line.RefID)
	known := pr.pricing.Items[refID]
	item := Item{
		RefID: refID, Title: line.Title, Quantity: int64(*line.Quantity), Instructions: line.Instructions,
		LineID: string(line.LineID),
		Tags:   []string{}, Charges: []Charge{}, Taxes: []Tax{}, Options: make([]Option, len(line.Options)),
	}
	if known != nil {
		item.ID, item.FoodType, item.Tags = known.ID, known.FoodType, orEmpty(known.Tags)
		item.Title = cmp.Or(item.Title, known.Title)
	}
	item.Title = cmp.Or(item.Title, refID)
	var menuPrice *core.Amount
	if known != nil && known.Reason != menu.NotSold {
		menuPrice = &known.Price
	}
	item.Price = pr.price(line.Price, menuPrice, p, path, "item")
	pr.quantities[refID] += item.Quantity
	pr.flagItem(known, pr.quantities[refID], path)
	each := item.Price.Decimal
	for i := range line.Options {
		within := p
		within.prefix = fmt.Sprintf("options[%d].", i)
		item.Options[i] = pr.option(&line.Options[i], within, fmt.Sprintf("%s.options[%d]", path, i))
		each = each.Add(item.Options[i].TotalPrice.Decimal)
	}
	if known != nil {
		pr.pricing.assignGroups(known, item.Options)
	}
	if menuPrice != nil {
		pr.flagOptions(known, item.Options, path)
	}
	item.Total.Decimal = pr.round(each.Mul(decimal.NewFromInt(item.Quantity)))
	item.TotalWithTax = item.Total
	return item
}

func (pr *pricer) option(choice *Choice, p fieldPath, path string) Option {
	refID := string(choice.RefID)
	known := pr.pricing.Options[refID]
	option := Option{RefID: refID, Title: choice.Title, Quantity: 1, LineID: string(choice.LineID),
		Parent: (*int64)(choice.Parent)}
	if choice.Quantity != nil {
		option.Quantity = int64(*choice.Quantity)
	}
	var menuPrice *core.Amount
	switch {
	case known == nil:
		pr.flag(path, NotOnMenu, "the menu has no such option")
	case known.Reason == menu.NotSold:
		pr.flag(path, NotSold, "the option is not sold at this store")
	case known.Reason != menu.Orderable:
		pr.flag(path, NotAvailable, "the option is not available at this store")
	}
	if known != nil {
		option.ID = known.ID
		option.Title = cmp.Or(option.Title, known.Title)
		if known.Reason != menu.NotSold {
			menuPrice = &known.Price
		}
	}
	option.Title = cmp.Or(option.Title, refID)
	option.Price = pr.price(choice.Price, menuPrice, p, path, "option")
	option.TotalPrice.Decimal = option.Price.Mul(decimal.NewFromInt(option.Quantity))
	return option
}

// price returns the price that was sent, or else the listed one of the menu. One of them is required.
func (pr *pricer) price(sent, listed *core.Amount, p fieldPath, path, noun string) core.Amount {
	switch {
	case sent == nil && listed == nil:
		p.fail("price", "required", priceRequired+noun)
		return core.Amount{}
	case sent == nil:
		return *listed
	case listed != nil:
		pr.compare(path+".price", "the menu has a different price", sent.Decimal, listed.Decimal)
	}
	return *sent
}

// flagItem flags the first reason why a customer could not have ordered the item.
func (pr *pricer) flagItem(known *MenuItem, quantity int64, path string) {
	if known == nil {
		pr.flag(path, NotOnMenu, "the menu has no such item")
		return
	}
	switch known.Reason {
	case menu.NotSold:
		pr.flag(path, NotSold, "the item is not sold at this store")
	case menu.NotListed, menu.BreaksRule:
		pr.flag(path, NotListed, "the item is not listed on this platform")
	case menu.Inactive, menu.CategoryInactive, menu.Unavailable:
		pr.flag(path, NotAvailable, "the item is not available at this store")
	default: // missing options are flagged with the groups
		if known.Stock >= 0 && known.Stock < quantity {
			pr.flag(path, OutOfStock, fmt.Sprintf("the store has %d of the item in stock", known.Stock))
		}
	}
}
