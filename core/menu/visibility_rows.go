package menu

// rows maps the entities of one kind to their rows.
type rows struct {
	byID map[int64]int32
	end  int32 // the row after the last
}

// of returns the row of an entity, or the row after the last if the menu does not contain it.
func (r rows) of(id int64) int32 {
	if row, known := r.byID[id]; known {
		return row
	}
	return r.end
}

func rowsOf[R any, P record[R]](records []R) rows {
	r := rows{byID: make(map[int64]int32, len(records)), end: int32(len(records))}
	for i := range records {
		r.byID[P(&records[i]).ref().ID] = int32(i)
	}
	return r
}

// adjacency holds the rows at the other end of one relation's links, grouped by the row at this end. The slice first
// holds the start of each group.
type adjacency struct{ starts, rows []int32 }

func (a adjacency) of(row int) []int32 { return a.rows[a.starts[row]:a.starts[row+1]] }

// newAdjacency groups the other ends by the rows at this end, in stable order. The parameter last is the largest row at
// this end.
func newAdjacency(these, others []int32, last int32) adjacency {
	a := adjacency{starts: make([]int32, last+3), rows: make([]int32, len(others))}
	for _, row := range these {
		a.starts[row+2]++ // shifted by one: filling moves each start to the next
	}
	for row := range last + 1 {
		a.starts[row+2] += a.starts[row+1]
	}
	for i, row := range these {
		a.rows[a.starts[row+1]] = others[i]
		a.starts[row+1]++
	}
	return a
}

// endKinds holds the kinds of the owner and of the other entity of each relation.
var endKinds = PerRelation[[2]Kind]{
	ItemCategory: {Items, Categories}, GroupItem: {OptionGroups, Items}, OptionInGroup: {Options, OptionGroups},
	NestedGroup: {Options, OptionGroups}, TaxItem: {Taxes, Items}, ChargeItem: {Charges, Items},
}

// buildIndexes indexes the rows of entities, the links and the store's values. It also orders all option groups.
func (v *visibility) buildIndexes() {
	m := v.menu
	v.rows = PerKind[rows]{rowsOf(m.Categories), rowsOf(m.Items), rowsOf(m.OptionGroups), rowsOf(m.Options),
		rowsOf(m.Taxes), rowsOf(m.Charges)}
	named := 0
	for relation, links := range m.Links {
		links = sortedLinks(links)
		owners, others := v.rows[endKinds[relation][0]], v.rows[endKinds[relation][1]]
		from, to := make([]int32, len(links)), make([]int32, len(links))
		for i, link := range links {
			from[i], to[i] = owners.of(link.From), others.of(link.To)
		}
		v.to[relation], v.from[relation] = newAdjacency(from, to, owners.end), newAdjacency(to, from, others.end)
		named += len(links)
	}
	v.refIDs = make([]string, 0, named)
	v.storeItems, v.storeOptions = make([]*ItemValues, len(m.Items)+1), make([]*OptionValues, len(m.Options)+1)
	for i := range m.Store.Items {
		v.storeItems[v.rows[Items].of(m.Store.Items[i].ID)] = &m.Store.Items[i].Values
	}
	for i := range m.Store.Options {
		v.storeOptions[v.rows[Options].of(m.Store.Options[i].ID)] = &m.Store.Options[i].Values
	}
	v.groupOrder = sortedRows(m.OptionGroups, nil, func(row int32) int64 { return m.OptionGroups[row].SortOrder })
	v.groupRank = make([]int32, len(m.OptionGroups)+1)
	for at, row := range v.groupOrder {
		v.groupRank[row] = int32(at)
	}
}
