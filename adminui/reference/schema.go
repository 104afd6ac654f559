package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// schema is the part of a JSON Schema that the pages show.
type schema struct {
	Ref              string              `json:"$ref"`
	Type             types               `json:"type"`
	Description      string              `json:"description"`
	Format           string              `json:"format"`
	Enum             []jsontext.Value    `json:"enum"`
	Const            jsontext.Value      `json:"const"`
	Default          jsontext.Value      `json:"default"`
	Minimum          jsontext.Value      `json:"minimum"`
	Maximum          jsontext.Value      `json:"maximum"`
	ExclusiveMaximum jsontext.Value      `json:"exclusiveMaximum"`
	MinLength        *int                `json:"minLength"`
	MaxLength        *int                `json:"maxLength"`
	Pattern          string              `json:"pattern"`
	MinItems         *int                `json:"minItems"`
	MaxItems         *int                `json:"maxItems"`
	MaxProperties    *int                `json:"maxProperties"`
	Items            *schema             `json:"items"`
	Properties       orderedMap[*schema] `json:"properties"`
	Required         []string            `json:"required"`
	Additional       jsontext.Value      `json:"additionalProperties"`
	AnyOf            []*schema           `json:"anyOf"`
}

// types is the type of a schema: one name or several.
type types []string

// UnmarshalJSON decodes a name or an array of names.
func (t *types) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		*t = types{""}
		return json.Unmarshal(raw, &(*t)[0])
	}
	var names []string
	err := json.Unmarshal(raw, &names)
	*t = names
	return err
}

// schema resolves references. A description beside the first reference takes precedence.
func (d *document) schema(s *schema) (*schema, error) {
	description := s.Description
	for range maxNesting {
		if s.Ref == "" {
			described := *s
			if description != "" {
				described.Description = description
			}
			return &described, nil
		}
		found, ok := d.Components.Schemas.get(component(s.Ref))
		if !ok {
			return nil, fmt.Errorf("%s does not exist", s.Ref)
		}
		s = found
	}
	return nil, fmt.Errorf("%s has no target", s.Ref)
}

// field is a row of a field table.
type field struct {
	parent, name string // such as "slots[]." and "start_time"
	kind         string
	required     bool
	bounds       []bound
	description  string
}

// maxNesting limits the depth of nested objects and of chained references.
const maxNesting = 8

// field returns the field of a resolved schema.
func (d *document) field(s *schema) (field, error) {
	f := field{description: s.Description}
	branches := s.AnyOf
	if len(branches) == 0 {
		branches = []*schema{s}
	}
	for _, branch := range branches {
		branch, err := d.schema(branch)
		if err != nil {
			return f, err
		}
		if len(branch.AnyOf) > 0 {
			inner, err := d.field(branch)
			if err != nil {
				return f, err
			}
			f.bounds, f.kind = append(f.bounds, inner.bounds...), inner.kind
			continue
		}
		var items *schema
		if branch.Items != nil {
			if items, err = d.schema(branch.Items); err != nil {
				return f, err
			}
		}
		f.bounds = append(f.bounds, boundsOf(branch, items)...)
		f.kind = mergeKinds(f.kind, kindOf(branch, items))
	}
	return f, nil
}

// kindOf describes a type, such as "array of objects". It leaves out null: a note on the page says that null means
// "not sent".
func kindOf(s, items *schema) string {
	names := slices.DeleteFunc(slices.Clone(s.Type), func(name string) bool { return name == "null" })
	kind := strings.Join(names, " or ")
	if items != nil {
		return kind + " of " + plural(kindOf(items, items.Items))
	}
	if values := s.mapValues(); values != nil {
		if of := kindOf(values, values.Items); of != "" {
			return kind + " of " + plural(of)
		}
		return kind + " of objects"
	}
	return kind
}

// plural returns the plural of a type description.
func plural(kind string) string {
	first, rest, more := strings.Cut(kind, " ")
	if more {
		return first + "s " + rest
	}
	return first + "s"
}

// mergeKinds joins the types of two branches without duplicates.
func mergeKinds(a, b string) string {
	all := strings.Split(a, " or ")
	for name := range strings.SplitSeq(b, " or ") {
		if name != "" && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return strings.Join(slices.DeleteFunc(all, func(name string) bool { return name == "" }), " or ")
}
