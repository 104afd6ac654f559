package menu

import (
	"fmt"
	"strings"
)

// levies are the taxes or charges of a request, in the form that warnings about their items need.
type levies struct {
	kind   Kind
	stored []levy // before the request
	sent   []sentLevy
	book   *linkBook
	links  []Link // stored ones
}

// levy is a stored tax or charge. Its rivals are the rates that may take its items, which include itself.
type levy struct {
	id                  int64
	key, rivals         string
	wasActive, isActive bool
	wasOnAll, isOnAll   bool
}

// name is the key without a blank for what is left out of it.
func (l *levy) name() string { return strings.TrimSpace(l.key) }

// sentLevy is a submitted tax or charge.
type sentLevy struct {
	key, rivals string
	refs        []string
}

// warnOfItems warns about items that pay a tax or charge no longer, or still, though the request does not name them.
// Another system may have sent these items, and what a customer pays depends on them.
func (d *decider) warnOfItems() {
	taxes := levies{kind: Taxes, book: d.links[TaxItem], links: d.state.Links[TaxItem]}
	for i := range d.state.Taxes {
		was, is := &d.state.Taxes[i], &d.taxes.byKey[d.state.Taxes[i].Key()].record
		taxes.stored = append(taxes.stored,
			levy{was.ID, was.Key(), was.Code, was.Active, is.Active, was.AllItems, is.AllItems})
	}
	for i := range d.request.Taxes {
		o := &d.request.Taxes[i].Object
		taxes.sent = append(taxes.sent, sentLevy{o.identity(), *o.Code, o.ItemRefIDs})
	}
	d.warnOfItemsOf(taxes)

	charges := levies{kind: Charges, book: d.links[ChargeItem], links: d.state.Links[ChargeItem]}
	for i := range d.state.Charges {
		was, is := &d.state.Charges[i], &d.charges.byKey[d.state.Charges[i].Key()].record
		charges.stored = append(charges.stored,
			levy{was.ID, was.Key(), was.Key(), was.Active, is.Active, was.AllItems, is.AllItems})
	}
	for i := range d.request.Charges {
		o := &d.request.Charges[i].Object
		charges.sent = append(charges.sent, sentLevy{o.identity(), o.identity(), o.ItemRefIDs})
	}
	d.warnOfItemsOf(charges)
}

func (d *decider) warnOfItemsOf(l levies) {
	named, all := d.namedBy(l.sent)
	byID := make(map[int64]*levy, len(l.stored))
	byKey := make(map[string]*levy, len(l.stored))
	for i := range l.stored {
		byID[l.stored[i].id], byKey[l.stored[i].key] = &l.stored[i], &l.stored[i]
	}
	lost := map[int64]int{}
	for _, link := range l.links {
		_, linked := l.book.current[ends{link.From, link.To}]
		if at := byID[link.From]; at != nil && at.wasActive && !(at.isActive && (linked || at.isOnAll)) &&
			!named[at.rivals][link.To] {
			lost[at.id]++
		}
	}
	for i := range l.stored {
		at := &l.stored[i]
		count := countItems(lost[at.id])
		if at.wasActive && at.wasOnAll && !(at.isActive && at.isOnAll) && !all[at.rivals] {
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
		d.warnOfKept(fmt.Sprintf("%s[%d].item_ref_ids", l.kind, i), sent, at, l.book)
	}
}

// warnOfKept warns about items that a list does not name.
func (d *decider) warnOfKept(path string, sent sentLevy, at *levy, book *linkBook) {
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
	kept := 0
	for _, item := range book.of(at.id) {
		if !listed[item] {
			kept++
		}
	}
	if kept > 0 {
		d.warn(path, "item_ref_ids",
			"adds to "+at.name()+", which still applies to "+countItems(kept)+" that it does not list"+remedy)
	}
}

func countItems(n int) string {
	if n == 1 {
		return "1 item"
	}
	return fmt.Sprintf("%d items", n)
}

// namedBy returns the items that the submitted objects name, and which of them name all, by the rivals.
func (d *decider) namedBy(sent []sentLevy) (named map[string]map[int64]bool, all map[string]bool) {
	named, all = map[string]map[int64]bool{}, map[string]bool{}
	for _, s := range sent {
		if named[s.rivals] == nil {
			named[s.rivals] = map[int64]bool{}
		}
		for _, ref := range s.refs {
			if item := d.items.byKey[ref]; item != nil {
				named[s.rivals][item.record.ID] = true
			}
			all[s.rivals] = all[s.rivals] || ref == AllItems
		}
	}
	return named, all
}
