package menu

import (
	"fmt"
	"maps"
	"slices"
)

// Target is the kind of entity that may have a key-value group. Targets are combined with |: OnItem|OnOption.
type Target uint8

// The targets of a key-value group.
const (
	OnItem Target = 1 << iota
	OnOption
)

// ValueRule is the required form of a key's value.
type ValueRule int

// The value rules: a positive whole number, one of a list, or any text.
const (
	WholeNumber ValueRule = iota
	OneOf
	AnyText
)

// Key is one key of a key-value group.
type Key struct {
	Name    string
	Rule    ValueRule
	Allowed []string // of OneOf
}

// Declaration is an addition to the vocabulary by core or a plugin. It contains a group with some of its keys, and the
// platform (a plugin's id) that requires them.
type Declaration struct {
	Group    string
	On       Target
	Keys     []Key
	Platform string // "" for all platforms
}

// coreDeclarations are the groups that do not belong to a single platform.
var coreDeclarations = []Declaration{
	{Group: "Servings", On: OnItem | OnOption, Keys: []Key{{Name: "serve_range_max"}, {Name: "serve_range_min"}}},
	{Group: "Nutrition", On: OnItem | OnOption, Keys: []Key{
		{Name: "kcal_range_min"}, {Name: "kcal_range_max"}}},
	{Group: "Deposit", On: OnItem | OnOption, Keys: []Key{
		{Name: "deposit_charge", Rule: OneOf, Allowed: []string{"0.15", "0.25"}}}},
}

// Vocabulary contains every key-value group that a request may use. It is immutable and may be shared.
type Vocabulary struct{ groups map[string]*keyGroup }

// Vocabulary returns the vocabulary itself, as the source of one that never changes.
func (v *Vocabulary) Vocabulary() *Vocabulary { return v }

type keyGroup struct {
	on   Target
	keys map[string]Key
}

// NewVocabulary returns core's groups and those that plugins declare. Several plugins may declare one group, each with
// its keys. It returns an error if a declaration is incomplete or contradicts an earlier one.
func NewVocabulary(declared ...Declaration) (*Vocabulary, error) {
	v := &Vocabulary{groups: map[string]*keyGroup{}}
	for _, d := range slices.Concat(coreDeclarations, declared) {
		if err := v.merge(d); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func (v *Vocabulary) merge(d Declaration) error {
	by := "core"
	if d.Platform != "" {
		by = d.Platform
	}
	if d.Group == "" || d.On == 0 || len(d.Keys) == 0 {
		return fmt.Errorf("key-value group %q of %s: group, target and keys are required", d.Group, by)
	}
	group := v.groups[d.Group]
	if group == nil {
		group = &keyGroup{on: d.On, keys: make(map[string]Key, len(d.Keys))}
		v.groups[d.Group] = group
	}
	if group.on != d.On {
		return fmt.Errorf("key-value group %q of %s is already declared for other targets", d.Group, by)
	}
	for _, key := range d.Keys {
		known, exists := group.keys[key.Name]
		switch {
		case key.Name == "" || (key.Rule == OneOf) != (len(key.Allowed) > 0):
			return fmt.Errorf("key-value group %q of %s: key %q is incomplete", d.Group, by, key.Name)
		case exists && (known.Rule != key.Rule || !slices.Equal(known.Allowed, key.Allowed)):
			return fmt.Errorf("key-value group %q of %s: key %q is already declared with another rule", d.Group, by,
				key.Name)
		case !exists:
			group.keys[key.Name] = key
		}
	}
	return nil
}

// names returns the groups that are allowed on a target.
func (v *Vocabulary) names(on Target) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(v.groups)) {
		if v.groups[name].on&on != 0 {
			names = append(names, name)
		}
	}
	return names
}
