package menu

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Target is the kind of entity that a key-value group may stand on. Values are
// added up: OnItem|OnOption.
type Target uint8

// The targets of a key-value group.
const (
	OnItem Target = 1 << iota
	OnOption
)

// ValueRule is what the value of a key must look like.
type ValueRule int

// The rules of values: a positive whole number, one of a list, or any text.
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

// Declaration is what core or a plugin adds to the vocabulary: a group and some
// of its keys, and the platform (a plugin's id) that asks for them.
type Declaration struct {
	Group    string
	On       Target
	Keys     []Key
	Platform string // "" for all platforms
}

// coreDeclarations are the groups that belong to no single platform (spec,
// Key-value groups).
var coreDeclarations = []Declaration{
	{Group: "Servings", On: OnItem | OnOption, Keys: []Key{{Name: "serve_range_max"}, {Name: "serve_range_min"}}},
	{Group: "Nutrition", On: OnItem | OnOption, Keys: []Key{
		{Name: "kcal_range_min"}, {Name: "kcal_range_max"}}},
	{Group: "Deposit", On: OnItem | OnOption, Keys: []Key{
		{Name: "deposit_charge", Rule: OneOf, Allowed: []string{"0.15", "0.25"}}}},
}

// Vocabulary is every key-value group that a request may use. It is not changed
// once it is made and may be shared.
type Vocabulary struct{ groups map[string]*wordGroup }

type wordGroup struct {
	on   Target
	keys map[string]Key
}

// NewVocabulary is core's groups and those declared besides, by plugins. Several
// plugins may declare one group, each with its keys; it fails when a declaration
// is not complete, or says of a group or key something else than an earlier one.
func NewVocabulary(declared ...Declaration) (*Vocabulary, error) {
	v := &Vocabulary{groups: map[string]*wordGroup{}}
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
		return fmt.Errorf("key-value group %q of %s: a declaration needs a group, a target and keys", d.Group, by)
	}
	group := v.groups[d.Group]
	if group == nil {
		group = &wordGroup{on: d.On, keys: make(map[string]Key, len(d.Keys))}
		v.groups[d.Group] = group
	}
	if group.on != d.On {
		return fmt.Errorf("key-value group %q of %s: it is declared for other targets already", d.Group, by)
	}
	for _, key := range d.Keys {
		known, exists := group.keys[key.Name]
		switch {
		case key.Name == "" || (key.Rule == OneOf) != (len(key.Allowed) > 0):
			return fmt.Errorf("key-value group %q of %s: key %q is not complete", d.Group, by, key.Name)
		case exists && (known.Rule != key.Rule || !slices.Equal(known.Allowed, key.Allowed)):
			return fmt.Errorf("key-value group %q of %s: key %q is declared with another rule already", d.Group, by, key.Name)
		case !exists:
			group.keys[key.Name] = key
		}
	}
	return nil
}

// names lists the groups that may stand on a target, for messages.
func (v *Vocabulary) names(on Target) string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(v.groups)) {
		if v.groups[name].on&on != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
