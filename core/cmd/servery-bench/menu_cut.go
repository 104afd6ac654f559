package main

import "slices"

// menuCut takes a part of a menu that holds together: of what it keeps, it
// keeps all that customers come to from there.
type menuCut struct {
	of       *menuRows
	groupsOf map[string][]int // by item: its option groups
	options  map[string][]int // by option group: its options
	groupAt  map[string]int
	parent   map[string]string // by category
	items    map[string]bool
	groups   map[string]bool
	chosen   map[string]bool // options
	above    map[string]bool // categories
}

// cut is a part of the menu of about so many objects, of the same mix at every size:
// items are taken from all over the menu, with their categories, option groups
// and options, until there are enough.
func (m *menuRows) cut(objects int) *menuRows {
	if objects >= m.objects() {
		return m
	}
	c := newMenuCut(m)
	always := len(m.Taxes) + len(m.Charges)
	step := stride(len(m.Items))
	for i := range m.Items {
		if always+len(c.items)+len(c.groups)+len(c.chosen)+len(c.above) >= objects {
			break
		}
		c.keepItem(m.Items[i*step%len(m.Items)])
	}
	return c.rows()
}

// stride is a step that comes to each of n places once, far apart.
func stride(n int) int {
	divisor := func(a, b int) int {
		for b != 0 {
			a, b = b, a%b
		}
		return a
	}
	step := n*618/1000 + 1
	for divisor(step, n) != 1 {
		step++
	}
	return step
}

func newMenuCut(m *menuRows) *menuCut {
	c := &menuCut{
		of: m, groupsOf: map[string][]int{}, options: map[string][]int{}, groupAt: map[string]int{}, parent: map[string]string{},
		items: map[string]bool{}, groups: map[string]bool{}, chosen: map[string]bool{}, above: map[string]bool{},
	}
	for i, group := range m.OptionGroups {
		c.groupAt[group.text("ref_id")] = i
		for _, item := range group.texts("item_ref_ids") {
			c.groupsOf[item] = append(c.groupsOf[item], i)
		}
	}
	for i, option := range m.Options {
		for _, group := range option.texts("opt_grp_ref_ids") {
			c.options[group] = append(c.options[group], i)
		}
	}
	for _, category := range m.Categories {
		c.parent[category.text("ref_id")] = category.text("parent_ref_id")
	}
	return c
}

func (c *menuCut) keepItem(item menuRow) {
	ref := item.text("ref_id")
	c.items[ref] = true
	for _, category := range item.texts("category_ref_ids") {
		for ; category != "" && !c.above[category]; category = c.parent[category] {
			c.above[category] = true
		}
	}
	for _, group := range c.groupsOf[ref] {
		c.keepGroup(group)
	}
}

func (c *menuCut) keepGroup(i int) {
	ref := c.of.OptionGroups[i].text("ref_id")
	if c.groups[ref] {
		return
	}
	c.groups[ref] = true
	for _, option := range c.options[ref] {
		row := c.of.Options[option]
		c.chosen[row.text("ref_id")] = true
		for _, nested := range row.texts("nested_opt_grps") {
			if at, known := c.groupAt[nested]; known {
				c.keepGroup(at)
			}
		}
	}
}

// rows is what was kept, in its order, without references to what was not.
func (c *menuCut) rows() *menuRows {
	return &menuRows{
		Categories:   kept(c.of.Categories, c.above),
		Items:        kept(c.of.Items, c.items),
		OptionGroups: referring(kept(c.of.OptionGroups, c.groups), "item_ref_ids", c.items),
		Options:      referring(kept(c.of.Options, c.chosen), "opt_grp_ref_ids", c.groups),
		Taxes:        falling(c.of.Taxes, c.items),
		Charges:      falling(c.of.Charges, c.items),
	}
}

func kept(rows []menuRow, keep map[string]bool) []menuRow {
	list := make([]menuRow, 0, len(keep))
	for _, row := range rows {
		if keep[row.text("ref_id")] {
			list = append(list, row)
		}
	}
	return list
}

// referring cuts a list of references down to what was kept.
func referring(rows []menuRow, member string, keep map[string]bool) []menuRow {
	for i, row := range rows {
		if row[member] != nil {
			rows[i] = row.with(member, slices.DeleteFunc(row.texts(member), func(ref string) bool { return !keep[ref] && ref != "all" }))
		}
	}
	return rows
}

// falling is the taxes or charges that fall on something that was kept.
func falling(rows []menuRow, items map[string]bool) []menuRow {
	list := referring(slices.Clone(rows), "item_ref_ids", items)
	return slices.DeleteFunc(list, func(row menuRow) bool { return len(row.texts("item_ref_ids")) == 0 })
}
