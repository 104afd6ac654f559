package menu

// Preview is the effect that a plan would have: the response to a dry run. Lists name objects by their ref_id, or taxes
// and charges by their identity, in the order of the request.
type Preview struct {
	LocationRefID string                  `json:"location_ref_id"`
	Kinds         map[string]*KindPreview `json:"kinds"` // by array name; only those sent
	Associations  map[string]LinkPreview  `json:"associations"`
	Held          []string                `json:"held,omitzero"` // flush flags that wait for confirm_flush
	Warnings      []Warning               `json:"warnings,omitzero"`
}

// KindPreview is the effect on the entities of one kind.
type KindPreview struct {
	Stats         Stats            `json:"stats"`
	Created       []string         `json:"created"`
	Updated       []string         `json:"updated"`
	Unchanged     int              `json:"unchanged"` // counted as updated in the stats, with nothing to write
	Deactivated   []string         `json:"deactivated"`
	Disassociated []Disassociation `json:"disassociated"`
	Errors        []ObjectError    `json:"errors"`
}

// Disassociation is an entity whose store references would be removed.
type Disassociation struct {
	RefID  string `json:"ref_id"`
	Stores int    `json:"stores"` // their number; 1 in a request for one store
}

// ObjectError is a submitted object that would fail.
type ObjectError struct {
	RefID   string `json:"ref_id"`
	Message string `json:"message"`
}

// LinkPreview counts the associations that would be added and removed.
type LinkPreview struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

var relationNames = PerRelation[string]{
	"item_categories", "option_group_items", "option_group_options",
	"nested_option_groups", "tax_items", "charge_items",
}

// String returns the name of the relation in a Preview, such as item_categories.
func (r Relation) String() string { return relationNames[r] }

// NewPreview returns the effect of the request's plan on the state.
func NewPreview(request Request, state State, plan Plan) Preview {
	p := Preview{
		LocationRefID: request.Scope.LocationRefID, Kinds: map[string]*KindPreview{},
		Associations: map[string]LinkPreview{}, Warnings: plan.allWarnings(),
	}
	keys := request.identities()
	for _, kind := range Kinds() {
		if keys[kind] == nil {
			continue
		}
		k := previewKind(keys[kind], plan.Outcomes[kind], plan.Stats[kind])
		for _, ref := range plan.Deactivated[kind] {
			k.Deactivated = append(k.Deactivated, ref.RefID)
		}
		for _, ref := range plan.Store.Removed[kind] {
			k.Disassociated = append(k.Disassociated, Disassociation{ref.RefID, 1})
		}
		if plan.ClearedAtStores[kind] {
			k.Disassociated = append(k.Disassociated, state.StoreCounts[kind]...)
		}
		p.Kinds[kind.String()] = k
		if plan.Held[kind] {
			p.Held = append(p.Held, "flush_"+kind.String())
		}
	}
	for relation, links := range plan.Links {
		p.Associations[Relation(relation).String()] = LinkPreview{len(links.Put), len(links.Remove)}
	}
	return p
}

func previewKind(keys []string, outcomes []Outcome, stats Stats) *KindPreview {
	k := &KindPreview{
		Stats: stats, Created: []string{}, Updated: []string{}, Deactivated: []string{},
		Disassociated: []Disassociation{}, Errors: []ObjectError{},
	}
	for i, outcome := range outcomes {
		switch {
		case outcome.Message != "":
			k.Errors = append(k.Errors, ObjectError{keys[i], outcome.Message})
		case outcome.Action == "A":
			k.Created = append(k.Created, keys[i])
		case outcome.Changed:
			k.Updated = append(k.Updated, keys[i])
		default:
			k.Unchanged++
		}
	}
	return k
}

// identities returns the identifiers of the objects of each kind, or nil for an array that was not sent.
func (r *Request) identities() PerKind[[]string] {
	return PerKind[[]string]{
		identities(r.Categories), identities(r.Items), identities(r.OptionGroups),
		identities(r.Options), identities(r.Taxes), identities(r.Charges),
	}
}

func identities[T any, P object[T]](submitted []Submitted[T]) []string {
	if submitted == nil {
		return nil
	}
	list := make([]string, len(submitted))
	for i := range submitted {
		list[i] = P(&submitted[i].Object).identity()
	}
	return list
}
