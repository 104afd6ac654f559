package menu

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// PlatformPrice is the price of an item on one platform.
type PlatformPrice struct {
	Platform string       `json:"platform"`
	Price    *core.Amount `json:"price"`
}

func (c *checker) platformPricing(list []PlatformPrice) {
	if !c.atMost("platform_pricing", len(list), maxParts) {
		return
	}
	for i := range list {
		p := &list[i]
		c.enter("platform_pricing", i)
		c.text("platform", &p.Platform, 1, maxName)
		if slices.ContainsFunc(list[:i], func(other PlatformPrice) bool { return other.Platform == p.Platform }) {
			c.fail("platform", "duplicate", "is given twice")
		}
		c.required("price", p.Price != nil)
		c.notNegative("price", p.Price)
		c.roundNoise(p.Price)
		c.leave()
	}
}

// mergePrices merges the platform prices that were sent into the stored ones. Prices of other platforms stay. It
// returns nil if nothing was sent.
func mergePrices(stored jsontext.Value, sent []PlatformPrice) jsontext.Value {
	if len(sent) == 0 {
		return nil
	}
	return encodeDocument(mergePlatformPrices(decodeDocument[[]PlatformPrice](stored), sent), true)
}

// mergePlatformPrices returns the prices of base, overridden by those of top and sorted by platform.
func mergePlatformPrices(base, top []PlatformPrice) []PlatformPrice {
	merged := slices.Clone(base)
	for _, price := range top {
		at := slices.IndexFunc(merged, func(known PlatformPrice) bool { return known.Platform == price.Platform })
		if at >= 0 {
			merged[at] = price
		} else {
			merged = append(merged, price)
		}
	}
	slices.SortFunc(merged, func(a, b PlatformPrice) int { return strings.Compare(a.Platform, b.Platform) })
	return merged
}

// PriceRule is the rule that set the price of an item, in descending priority.
type PriceRule int

// The price rules.
const (
	StorePlatformPrice PriceRule = iota
	MasterPlatformPrice
	StoreExternalPrice
	StorePrice
)

// ResolvePrice returns the price of an item on a platform at a store.
func ResolvePrice(master *Item, atStore *ItemValues, platform core.Platform) core.Amount {
	price, _ := RulePrice(master, atStore, platform)
	return price
}

// RulePrice returns the price of an item on a platform at a store, and its rule. The first of these prices applies: the
// store's platform price, the master's platform price, the store's external price and the store's price. The external
// price applies to aggregators only.
func RulePrice(master *Item, atStore *ItemValues, platform core.Platform) (core.Amount, PriceRule) {
	for rule, stored := range []jsontext.Value{atStore.PlatformPricing, master.PlatformPricing} {
		if len(stored) == 0 {
			continue
		}
		for _, price := range decodeDocument[[]PlatformPrice](stored) {
			if price.Platform == platform.Name {
				return *price.Price, PriceRule(rule)
			}
		}
	}
	if platform.ServedBy != core.ServedByMerchant && atStore.ExternalPrice != nil {
		return *atStore.ExternalPrice, StoreExternalPrice
	}
	return atStore.Price, StorePrice
}
