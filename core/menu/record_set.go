package menu

// recordState is one master record while a request is planned.
type recordState[R any] struct {
	record  R
	isNew   bool
	changed bool
	listed  bool // named by the request
	partial bool // only the identifiers are known
	touched bool
	applied bool // an object of the request has not failed
}

// recordKind describes the master records of one kind.
type recordKind[R any] struct {
	kind      Kind
	key       func(*R) string // the identifier in requests
	ref       func(*R) *Ref
	newRecord func(key string) R
}

// recordSet holds the master records of one kind, by their identifiers in requests.
type recordSet[R any] struct {
	recordKind[R]
	byKey   map[string]*recordState[R]
	stored  []*recordState[R] // in the order of the state
	touched []*recordState[R] // in the order of the request
	names   map[int64]string
}

// newRecordSet returns a set of full records and of others with only identifiers. The parameter expect is how many
// records the request can add.
func newRecordSet[R any](of recordKind[R], records []R, others []Ref, expect int) *recordSet[R] {
	s := &recordSet[R]{recordKind: of}
	s.byKey = make(map[string]*recordState[R], len(records)+len(others)+expect)
	s.stored = make([]*recordState[R], 0, len(records)+len(others))
	states := make([]recordState[R], len(records)+len(others))
	add := func(i int, key string) {
		if _, twice := s.byKey[key]; !twice {
			s.byKey[key] = &states[i]
			s.stored = append(s.stored, &states[i])
		}
	}
	for i := range records {
		states[i].record = records[i]
		add(i, of.key(&records[i]))
	}
	for i, other := range others {
		at := len(records) + i
		*of.ref(&states[at].record) = other
		states[at].partial = true
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
	n := 0
	for _, state := range s.touched {
		if state.isNew || state.changed {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	list := make([]Change[R], 0, n) // of large records
	for _, state := range s.touched {
		if state.isNew || state.changed {
			list = append(list, Change[R]{New: state.isNew, Record: state.record})
		}
	}
	return list
}

// active returns the stored entities that are active, in the form that a flush needs.
func (s *recordSet[R]) active() []flushTarget {
	list := make([]flushTarget, 0, len(s.stored))
	for _, state := range s.stored {
		ref := s.ref(&state.record)
		if !ref.Active {
			continue
		}
		named := *ref
		if named.RefID == "" {
			named.RefID = s.key(&state.record)
		}
		list = append(list, flushTarget{ref: ref, named: named, listed: state.listed})
	}
	return list
}

// listedIDs returns the ids that the request names.
func (s *recordSet[R]) listedIDs() map[int64]bool {
	ids := make(map[int64]bool, len(s.byKey))
	for _, state := range s.byKey {
		if state.listed {
			ids[s.ref(&state.record).ID] = true
		}
	}
	return ids
}

// name returns the identifier in the external system, or "" for an unknown id. It may be called only after all objects
// of the kind were planned.
func (s *recordSet[R]) name(id int64) string {
	if s.names == nil {
		s.names = make(map[int64]string, len(s.byKey))
		for key, state := range s.byKey {
			s.names[s.ref(&state.record).ID] = key
		}
	}
	return s.names[id]
}
