package menu

// rows maps the entities of one kind to their rows.
type rows struct {
	byID   map[int64]int32
	behind int32 // the row after the last
}

// of returns the row of an entity, or the row after the last if the menu does not contain it.
func (r rows) of(id int64) int32 {
	if row, known := r.byID[id]; known {
		return row
	}
	return r.behind
}

func rowsOf[R any, P record[R]](records []R) rows {
	r := rows{byID: make(map[int64]int32, len(records)), behind: int32(len(records))}
	for i := range records {
		r.byID[P(&records[i]).ref().ID] = int32(i)
	}
	return r
}

// linked holds the rows at the other end of one relation's links, grouped by the row at this end. The slice first
// holds the start of each group.
type linked struct{ first, rows []int32 }

func (l linked) of(row int) []int32 { return l.rows[l.first[row]:l.first[row+1]] }

// gather groups the other ends by the rows at this end, in stable order. The parameter behind is the largest row at
// this end.
func gather(here, there []int32, behind int32) linked {
	l := linked{first: make([]int32, behind+3), rows: make([]int32, len(there))}
	for _, row := range here {
		l.first[row+2]++ // shifted by one: filling moves each start to the next
	}
	for row := range behind + 1 {
		l.first[row+2] += l.first[row+1]
	}
	for i, row := range here {
		l.rows[l.first[row+1]] = there[i]
		l.first[row+1]++
	}
	return l
}

// endKinds are the kinds of the owners, and of the entities that they name.
var endKinds = PerRelation[[2]Kind]{
	ItemCategory: {Items, Categories}, GroupItem: {OptionGroups, Items}, OptionInGroup: {Options, OptionGroups},
	GroupUnderneath: {Options, OptionGroups}, TaxItem: {Taxes, Items}, ChargeItem: {Charges, Items},
}

// find builds the indexes: the rows of entities, the links, the store's values, and the order of all option groups.
func (s *sight) find() {
	m := s.menu
	s.rows = PerKind[rows]{rowsOf(m.Categories), rowsOf(m.Items), rowsOf(m.OptionGroups), rowsOf(m.Options),
		rowsOf(m.Taxes), rowsOf(m.Charges)}
	named := 0
	for relation, links := range m.Links {
		links = inPosition(links)
		owners, others := s.rows[endKinds[relation][0]], s.rows[endKinds[relation][1]]
		from, to := make([]int32, len(links)), make([]int32, len(links))
		for i, link := range links {
			from[i], to[i] = owners.of(link.From), others.of(link.To)
		}
		s.to[relation], s.from[relation] = gather(from, to, owners.behind), gather(to, from, others.behind)
		named += len(links)
	}
	s.refIDs = make([]string, 0, named)
	s.itemsHere, s.optionsHere = make([]*ItemValues, len(m.Items)+1), make([]*OptionValues, len(m.Options)+1)
	for i := range m.Store.Items {
		s.itemsHere[s.rows[Items].of(m.Store.Items[i].ID)] = &m.Store.Items[i].Values
	}
	for i := range m.Store.Options {
		s.optionsHere[s.rows[Options].of(m.Store.Options[i].ID)] = &m.Store.Options[i].Values
	}
	s.ranked = inOrder(m.OptionGroups, nil, func(row int32) int64 { return m.OptionGroups[row].SortOrder })
	s.ranks = make([]int32, len(m.OptionGroups)+1)
	for at, row := range s.ranked {
		s.ranks[row] = int32(at)
	}
}
