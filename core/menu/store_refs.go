package menu

// storeRefSet tracks the addressed store's references to the masters of one kind while a request is planned. A
// reference means that the store sells the entity.
type storeRefSet[V any] struct {
	byID    map[int64]*storeRef[V]
	stored  []int64
	touched []*storeRef[V]
}

type storeRef[V any] struct {
	AtStore[V]
	isNew bool
}

func newStoreRefSet[V any](references []AtStore[V]) *storeRefSet[V] {
	c := &storeRefSet[V]{byID: make(map[int64]*storeRef[V], len(references))}
	for _, reference := range references {
		c.byID[reference.ID] = &storeRef[V]{AtStore: reference}
		c.stored = append(c.stored, reference.ID)
	}
	return c
}

// upsert creates or updates the reference to a master. A new one starts with the master's values and applies the sent
// values. Later only requests for the store change it.
func (c *storeRefSet[V]) upsert(id int64, ofMaster V, apply func(*V) bool) (changed bool) {
	p := c.byID[id]
	if p == nil {
		p = &storeRef[V]{AtStore: AtStore[V]{ID: id, Values: ofMaster}, isNew: true}
		c.byID[id] = p
	}
	if changed = apply(&p.Values) || p.isNew; changed {
		c.touched = append(c.touched, p)
	}
	return changed
}

// remove removes the reference to a master, if there is one.
func (c *storeRefSet[V]) remove(id int64) (was bool) {
	_, was = c.byID[id]
	delete(c.byID, id)
	return was
}

// ids returns the store's references before the request.
func (c *storeRefSet[V]) ids() []int64 { return c.stored }

func (c *storeRefSet[V]) changes() []Change[AtStore[V]] {
	var list []Change[AtStore[V]]
	for _, p := range c.touched {
		list = append(list, Change[AtStore[V]]{New: p.isNew, Record: p.AtStore})
	}
	return list
}
