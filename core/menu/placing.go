package menu

// counter tracks the addressed store's references to the masters of one kind while a request is planned. A reference
// means that the store sells the entity.
type counter[V any] struct {
	byID    map[int64]*placed[V]
	stored  []int64
	touched []*placed[V]
}

type placed[V any] struct {
	AtStore[V]
	isNew bool
}

func newCounter[V any](references []AtStore[V]) *counter[V] {
	c := &counter[V]{byID: make(map[int64]*placed[V], len(references))}
	for _, reference := range references {
		c.byID[reference.ID] = &placed[V]{AtStore: reference}
		c.stored = append(c.stored, reference.ID)
	}
	return c
}

// place creates or updates the reference to a master. A new one starts with the master's values and applies the
// values that were sent. After that only requests for the store change it (spec, Menu model; contract, Menu).
func (c *counter[V]) place(id int64, ofMaster V, apply func(*V) bool) (changed bool) {
	p := c.byID[id]
	if p == nil {
		p = &placed[V]{AtStore: AtStore[V]{ID: id, Values: ofMaster}, isNew: true}
		c.byID[id] = p
	}
	if changed = apply(&p.Values) || p.isNew; changed {
		c.touched = append(c.touched, p)
	}
	return changed
}

// take removes the reference to a master, if there is one.
func (c *counter[V]) take(id int64) (was bool) {
	_, was = c.byID[id]
	delete(c.byID, id)
	return was
}

// ids returns the store's references before the request.
func (c *counter[V]) ids() []int64 { return c.stored }

func (c *counter[V]) changes() []Change[AtStore[V]] {
	var list []Change[AtStore[V]]
	for _, p := range c.touched {
		list = append(list, Change[AtStore[V]]{New: p.isNew, Record: p.AtStore})
	}
	return list
}
