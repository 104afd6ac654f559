package menu

// Change is one record to write, whole: its fields are those that it has afterwards.
type Change[R any] struct {
	New    bool
	Record R
}

// LinkChange is what becomes of the links of one relation. A link in Put is new
// or has moved to another position.
type LinkChange struct {
	Put    []Link
	Remove []Link
}

// StoreChange is what becomes of the references of the addressed store.
type StoreChange struct {
	Categories []int64 // to add
	Items      []Change[AtStore[ItemValues]]
	Options    []Change[AtStore[OptionValues]]
	Removed    PerKind[[]Ref] // masters whose reference goes, of Items and Options
}

// Outcome is what became of one submitted object.
type Outcome struct {
	Action  string // A added, U updated, D taken from the store; of a failed object what was attempted
	ID      int64  // 0 on error
	Message string // what was wrong; "" when nothing
	Changed bool   // whether anything that is stored differs afterwards
}

// Stats counts the outcomes of one kind. Deleted also counts what a flush took out.
type Stats struct {
	Created int `json:"created"`
	Updated int `json:"updated"`
	Deleted int `json:"deleted"`
	Errors  int `json:"errors"`
}

// Warning tells of something in the request that had no effect.
type Warning struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Plan is what a request comes to. Writing it means, in this order: remove the
// store references of the kinds in Emptied at every store of the business,
// deactivate, write the changed masters, remove and put links, change the
// references of the addressed store. Whatever is not in it stays as it is.
type Plan struct {
	Scope        Scope
	Categories   []Change[Category]
	Items        []Change[Item]
	OptionGroups []Change[OptionGroup]
	Options      []Change[Option]
	Taxes        []Change[Tax]
	Charges      []Change[Charge]
	Links        PerRelation[LinkChange]
	Emptied      PerKind[bool]  // of Categories, Items and Options: a master flush
	Deactivated  PerKind[[]Ref] // masters that a flush did not list
	Store        StoreChange
	Outcomes     PerKind[[]Outcome] // in the order of the request
	Stats        PerKind[Stats]
	TimingStats  Stats // of timing groups: a rollback
	Warnings     []Warning
	Held         PerKind[bool] // flushes that wait for confirm_flush
}

// Changes tells whether the plan writes anything at all.
func (p *Plan) Changes() bool {
	written := len(p.Categories) + len(p.Items) + len(p.OptionGroups) + len(p.Options) + len(p.Taxes) + len(p.Charges) +
		len(p.Store.Categories) + len(p.Store.Items) + len(p.Store.Options)
	for _, links := range p.Links {
		written += len(links.Put) + len(links.Remove)
	}
	for kind := range p.Emptied {
		written += len(p.Deactivated[kind]) + len(p.Store.Removed[kind])
		if p.Emptied[kind] {
			written++
		}
	}
	return written > 0
}

// Failed is the plan of a request that the hub could not carry out at all: every
// object an error with the message, nothing to write. The state tells creation
// from update, as far as it was loaded.
func Failed(request Request, state State, message string) Plan {
	d := newDecider(&request, &state, func() int64 { return 0 })
	plan := Plan{Scope: request.Scope}
	fail := func(kind Kind, known bool) {
		outcome := Outcome{Action: "A", Message: message}
		if known {
			outcome.Action = "U"
		}
		plan.Outcomes[kind] = append(plan.Outcomes[kind], outcome)
		plan.Stats[kind].Errors++
	}
	failAll(request.Categories, d.categories, Categories, fail)
	failAll(request.Items, d.items, Items, fail)
	failAll(request.OptionGroups, d.groups, OptionGroups, fail)
	failAll(request.Options, d.options, Options, fail)
	failAll(request.Taxes, d.taxes, Taxes, fail)
	failAll(request.Charges, d.charges, Charges, fail)
	return plan
}

func failAll[T, R any, P object[T]](submitted []Submitted[T], s *shelf[R], kind Kind, fail func(Kind, bool)) {
	for i := range submitted {
		fail(kind, s.byKey[P(&submitted[i].Object).identity()] != nil)
	}
}
