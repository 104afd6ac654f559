package menu

import (
	"fmt"
	"strings"
)

// adjustments are the taxes or charges of a request, in the form that warnings about their items need.
type adjustments struct {
	kind    Kind
	stored  []adjustment // before the request
	sent    []sentAdjustment
	linkSet *linkSet
	links   []Link // stored ones
}

// adjustment is a stored tax or charge. Objects with the same exclusionKey replace each other on an item: the rates of
// one tax code, and the values of one charge.
type adjustment struct {
	id                  int64
	key, exclusionKey   string
	wasActive, isActive bool
	wasOnAll, isOnAll   bool
}

// name returns the key without the space that precedes an omitted part.
func (l *adjustment) name() string { return strings.TrimSpace(l.key) }

// sentAdjustment is a submitted tax or charge.
type sentAdjustment struct {
	key, exclusionKey string
	refs              []string
}

// warnOfItems warns about items that the request does not name and that no longer, or still, have a tax or charge.
// Another system may have sent them, and the amount that a customer pays depends on them.
func (d *decider) warnOfItems() {
	taxes := adjustments{kind: Taxes, linkSet: d.links[TaxItem], links: d.state.Links[TaxItem]}
	for i := range d.state.Taxes {
		was, is := &d.state.Taxes[i], &d.taxes.byKey[d.state.Taxes[i].Key()].record
		taxes.stored = append(taxes.stored,
			adjustment{was.ID, was.Key(), was.Code, was.Active, is.Active, was.AllItems, is.AllItems})
	}
	for i := range d.request.Taxes {
		o := &d.request.Taxes[i].Object
		taxes.sent = append(taxes.sent, sentAdjustment{o.identity(), *o.Code, o.ItemRefIDs})
	}
	d.warnOfItemsOf(taxes)

	charges := adjustments{kind: Charges, linkSet: d.links[ChargeItem], links: d.state.Links[ChargeItem]}
	for i := range d.state.Charges {
		was, is := &d.state.Charges[i], &d.charges.byKey[d.state.Charges[i].Key()].record
		charges.stored = append(charges.stored,
			adjustment{was.ID, was.Key(), is.ExclusionKey(), was.Active, is.Active, was.AllItems, is.AllItems})
	}
	for i := range d.request.Charges {
		o := &d.request.Charges[i].Object
		sent := sentAdjustment{key: o.identity(), refs: o.ItemRefIDs}
		if s := d.charges.byKey[sent.key]; s != nil { // a failed object creates none
			sent.exclusionKey = s.record.ExclusionKey()
		}
		charges.sent = append(charges.sent, sent)
	}
	d.warnOfItemsOf(charges)
}

func (d *decider) warnOfItemsOf(l adjustments) {
	named, all := d.namedBy(l.sent)
	byID := make(map[int64]*adjustment, len(l.stored))
	byKey := make(map[string]*adjustment, len(l.stored))
	for i := range l.stored {
		byID[l.stored[i].id], byKey[l.stored[i].key] = &l.stored[i], &l.stored[i]
	}
	lost := map[int64]int{}
	for _, link := range l.links {
		_, linked := l.linkSet.current[linkEnds{link.From, link.To}]
		if at := byID[link.From]; at != nil && at.wasActive && !(at.isActive && (linked || at.isOnAll)) &&
			!named[at.exclusionKey][link.To] {
			lost[at.id]++
		}
	}
	for i := range l.stored {
		at := &l.stored[i]
		count := countItems(lost[at.id])
		if at.wasActive && at.wasOnAll && !(at.isActive && at.isOnAll) && !all[at.exclusionKey] {
			count, lost[at.id] = "all items", 1
		}
		if lost[at.id] > 0 {
			d.warn(l.kind.String(), at.name(), "no longer applies to "+count+" outside this request")
		}
	}
	for i, sent := range l.sent {
		at := byKey[sent.key]
		if sent.refs == nil || at == nil || !at.isActive || d.plan.Outcomes[l.kind][i].Message != "" {
			continue
		}
		d.warnOfUnlisted(fmt.Sprintf("%s[%d].item_ref_ids", l.kind, i), sent, at, l.linkSet)
	}
}

// warnOfUnlisted warns about items that a list does not name.
func (d *decider) warnOfUnlisted(path string, sent sentAdjustment, at *adjustment, links *linkSet) {
	const remedy = ": send clear_items true to remove it"
	if at.isOnAll {
		if len(sent.refs) != 1 || sent.refs[0] != AllItems {
			d.warn(path, "item_ref_ids", "adds to "+at.name()+", which still applies to all items"+remedy)
		}
		return
	}
	listed := make(map[int64]bool, len(sent.refs))
	for _, ref := range sent.refs {
		if item := d.items.byKey[ref]; item != nil {
			listed[item.record.ID] = true
		}
	}
	unlisted := 0
	for _, item := range links.of(at.id) {
		if !listed[item] {
			unlisted++
		}
	}
	if unlisted > 0 {
		d.warn(path, "item_ref_ids",
			"adds to "+at.name()+", which still applies to "+countItems(unlisted)+" that it does not list"+remedy)
	}
}

func countItems(n int) string {
	if n == 1 {
		return "1 item"
	}
	return fmt.Sprintf("%d items", n)
}

// namedBy returns the items that the submitted objects name, and whether they name all items, by exclusionKey.
func (d *decider) namedBy(sent []sentAdjustment) (named map[string]map[int64]bool, all map[string]bool) {
	named, all = map[string]map[int64]bool{}, map[string]bool{}
	for _, s := range sent {
		if named[s.exclusionKey] == nil {
			named[s.exclusionKey] = map[int64]bool{}
		}
		for _, ref := range s.refs {
			if item := d.items.byKey[ref]; item != nil {
				named[s.exclusionKey][item.record.ID] = true
			}
			all[s.exclusionKey] = all[s.exclusionKey] || ref == AllItems
		}
	}
	return named, all
}
