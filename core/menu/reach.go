package menu

// Reach is whose effective menu a plan may change: every store's, or those of the
// stores that sell one of the items or options; and the addressed store's, where
// its own references change.
type Reach struct {
	All     bool
	Items   []int64
	Options []int64
	AtStore bool
}

// Any tells whether there is anybody.
func (r Reach) Any() bool { return r.All || r.AtStore || len(r.Items)+len(r.Options) > 0 }

// Reach works out whom the plan reaches. What is new is at no store yet but the
// addressed one, and a link is seen only where its item or option is sold; of
// what falls on whole menus every store is reached.
func (p *Plan) Reach() (r Reach) {
	r.All = len(p.Taxes)+len(p.Charges)+len(p.Links[ChargeItem].Put)+len(p.Links[ChargeItem].Remove) > 0
	for kind, emptied := range p.Emptied {
		r.All = r.All || emptied || len(p.Deactivated[kind]) > 0 && !storeValued(Kind(kind))
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
				case OptionInGroup, GroupUnderneath:
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

// changedIDs are the masters that stores may have references to already.
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
