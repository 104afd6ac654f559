package sdk

import (
	"cmp"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxComplexity bounds the parts of a schema that apply to one value. Otherwise a short schema, whose parts refer to
// each other in pairs, would take years to check.
const maxComplexity = 1000

// complexity is how many parts of a schema apply to one value, and in how many places it refers to itself. It takes
// alternatives for parts that apply to the same members, although they may have different ones.
type complexity struct{ parts, loops int }

// allowed reports whether values can be checked in time that is proportional to their size.
func (c complexity) allowed() bool { return c.parts <= maxComplexity && c.loops <= 1 }

// complexities has the complexity of each schema.
type complexities map[*jsonschema.Schema]complexity

func (c complexities) of(s *jsonschema.Schema) complexity {
	if known, ok := c[s]; ok {
		return known
	}
	c[s] = complexity{1, 1} // if it refers to itself
	total := complexity{parts: 1}
	if s.DynamicRef != nil || s.RecursiveRef != nil { // to a schema that depends on the value
		total.parts += maxComplexity
	}
	together, separate := partsOf(s)
	most := complexity{}
	for _, part := range separate {
		found := c.of(part)
		most = complexity{max(most.parts, found.parts), max(most.loops, found.loops)}
	}
	total = total.plus(most)
	for _, part := range together {
		total = total.plus(c.of(part))
	}
	c[s] = total
	return total
}

func (c complexity) plus(other complexity) complexity {
	return complexity{min(c.parts+other.parts, maxComplexity+1), min(c.loops+other.loops, 2)}
}

// partsOf returns the parts of a schema: those that apply to the same value, and those of separate members.
func partsOf(s *jsonschema.Schema) (together, separate []*jsonschema.Schema) {
	separate = slices.AppendSeq(slices.Clone(s.PrefixItems), maps.Values(s.Properties))
	together = slices.Concat(s.AllOf, s.AnyOf, s.OneOf, []*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else,
		s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema})
	together = slices.AppendSeq(together, maps.Values(s.PatternProperties))
	together = slices.AppendSeq(together, maps.Values(s.DependentSchemas))
	others := slices.AppendSeq([]any{s.AdditionalProperties, s.AdditionalItems, s.Items}, maps.Values(s.Dependencies))
	for _, other := range others {
		switch other := other.(type) {
		case *jsonschema.Schema:
			together = append(together, other)
		case []*jsonschema.Schema:
			separate = append(separate, other...)
		}
	}
	together = slices.DeleteFunc(together, func(part *jsonschema.Schema) bool { return part == nil })
	for _, list := range [][]*jsonschema.Schema{together, separate} { // the result must not depend on the order of maps
		slices.SortFunc(list, func(a, b *jsonschema.Schema) int { return cmp.Compare(a.Location, b.Location) })
	}
	return together, separate
}
