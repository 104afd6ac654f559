package menu

// recordState is one master record while a request is planned.
type recordState[R any] struct {
	record  R
	isNew   bool
	changed bool
	listed  bool // named by the request
	partial bool // only the identifiers are known
	touched bool
}

// recordSet holds the master records of one kind, by their identifiers in requests.
type recordSet[R any] struct {
	kind      Kind
	key       func(*R) string
	ref       func(*R) *Ref
	newRecord func(key string) R
	byKey     map[string]*recordState[R]
	stored    []*recordState[R] // in the order of the state
	touched   []*recordState[R] // in the order of the request
	names     map[int64]string
}

func newRecordSet[R any](kind Kind, records []R, others []Ref, expect int, key func(*R) string, ref func(*R) *Ref,
	blank func(string) R) *recordSet[R] {
	s := &recordSet[R]{kind: kind, key: key, ref: ref, newRecord: blank}
	s.byKey = make(map[string]*recordState[R], len(records)+len(others)+expect)
	s.stored = make([]*recordState[R], 0, len(records)+len(others))
	slots := make([]recordState[R], len(records)+len(others))
	add := func(i int, key string) {
		if _, twice := s.byKey[key]; !twice {
			s.byKey[key] = &slots[i]
			s.stored = append(s.stored, &slots[i])
		}
	}
	for i := range records {
		slots[i].record = records[i]
		add(i, key(&records[i]))
	}
	for i, other := range others {
		at := len(records) + i
		*ref(&slots[at].record) = other
		slots[at].partial = true
		add(at, other.RefID)
	}
	return s
}

// resolve converts references to distinct ids, and returns those that are unknown.
func (s *recordSet[R]) resolve(refs []string) (ids []int64, unknown []string) {
	if len(refs) == 0 {
		return nil, nil
	}
	ids = make([]int64, 0, len(refs))
	var seen map[int64]bool
	if len(refs) > 1 {
		seen = make(map[int64]bool, len(refs))
	}
	for _, ref := range refs {
		found := s.byKey[ref]
		if found == nil {
			unknown = append(unknown, ref)
			continue
		}
		id := s.ref(&found.record).ID
		if seen != nil {
			if seen[id] {
				continue
			}
			seen[id] = true
		}
		ids = append(ids, id)
	}
	return ids, unknown
}

// markTouched records that a record was planned.
func (s *recordSet[R]) markTouched(at *recordState[R]) {
	if !at.touched {
		at.touched = true
		s.touched = append(s.touched, at)
	}
}

// changes returns the records to write, in the order in which they were touched.
func (s *recordSet[R]) changes() []Change[R] {
	var list []Change[R]
	for _, slot := range s.touched {
		if slot.isNew || slot.changed {
			list = append(list, Change[R]{New: slot.isNew, Record: slot.record})
		}
	}
	return list
}

// active returns the stored entities that are active, in the form that a flush needs.
func (s *recordSet[R]) active() []flushTarget {
	list := make([]flushTarget, 0, len(s.stored))
	for _, slot := range s.stored {
		ref := s.ref(&slot.record)
		if !ref.Active {
			continue
		}
		named := *ref
		if named.RefID == "" {
			named.RefID = s.key(&slot.record)
		}
		list = append(list, flushTarget{ref: ref, named: named, listed: slot.listed})
	}
	return list
}

// listedIDs returns the ids that the request names.
func (s *recordSet[R]) listedIDs() map[int64]bool {
	ids := make(map[int64]bool, len(s.byKey))
	for _, slot := range s.byKey {
		if slot.listed {
			ids[s.ref(&slot.record).ID] = true
		}
	}
	return ids
}

// name returns the identifier in the external system, or "" for an unknown id. It may be called only after all
// objects of the kind were planned.
func (s *recordSet[R]) name(id int64) string {
	if s.names == nil {
		s.names = make(map[int64]string, len(s.byKey))
		for key, slot := range s.byKey {
			s.names[s.ref(&slot.record).ID] = key
		}
	}
	return s.names[id]
}
