package menu

// AffectedStores is the set of stores whose effective menu a plan may change. It is every store, or those that sell one
// of the items or options. It includes the addressed store if its own references change.
type AffectedStores struct {
	All     bool
	Items   []int64
	Options []int64
	AtStore bool
}

// Any reports whether the set can be non-empty.
func (r AffectedStores) Any() bool { return r.All || r.AtStore || len(r.Items)+len(r.Options) > 0 }

// AffectedStores returns the stores that the plan affects. A new entity exists only at the addressed store, and a link
// is visible only where its item or option is sold. A change that applies to whole menus affects every store.
func (p *Plan) AffectedStores() (r AffectedStores) {
	r.All = len(p.Taxes)+len(p.Charges)+len(p.Links[ChargeItem].Put)+len(p.Links[ChargeItem].Remove) > 0
	for kind, emptied := range p.ClearedAtStores {
		r.All = r.All || emptied || len(p.Deactivated[kind]) > 0 && !hasStoreValues(Kind(kind))
		r.AtStore = r.AtStore || len(p.Store.Removed[kind]) > 0
	}
	r.All = r.All || anyChanged(p.Categories) || anyChanged(p.OptionGroups)
	r.Items, r.Options = changedIDs(p.Items, p.Deactivated[Items]), changedIDs(p.Options, p.Deactivated[Options])
	for relation, links := range p.Links {
		for _, list := range [][]Link{links.Put, links.Remove} {
			for _, link := range list {
				switch Relation(relation) {
				case ItemCategory:
					r.Items = append(r.Items, link.From)
				case GroupItem, TaxItem:
					r.Items = append(r.Items, link.To)
				case OptionInGroup, NestedGroup:
					r.Options = append(r.Options, link.From)
				}
			}
		}
	}
	r.AtStore = r.AtStore || len(p.Store.Categories)+len(p.Store.Items)+len(p.Store.Options) > 0
	return r
}

func anyChanged[R any](changes []Change[R]) bool {
	for i := range changes {
		if !changes[i].New {
			return true
		}
	}
	return false
}

// changedIDs returns the masters that stores can already have references to.
func changedIDs[R any, P record[R]](changes []Change[R], deactivated []Ref) (ids []int64) {
	for i := range changes {
		if !changes[i].New {
			ids = append(ids, P(&changes[i].Record).ref().ID)
		}
	}
	for _, ref := range deactivated {
		ids = append(ids, ref.ID)
	}
	return ids
}
