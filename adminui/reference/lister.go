package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// fieldLister lists the fields of one table.
type fieldLister struct {
	*document
	listedUnder map[string]string // field that lists the parts of a schema, by reference
	list        []field
}

// fields lists the properties of a schema and its nested objects, each after its parent. A schema that occurs
// again is listed once and referred to.
func (d *document) fields(s *schema) ([]field, error) {
	l := fieldLister{document: d, listedUnder: map[string]string{}}
	err := l.add(s, "")
	return l.list, err
}

func (l *fieldLister) add(s *schema, parent string) error {
	if strings.Count(parent, ".") >= maxNesting {
		return fmt.Errorf("%s is nested too deeply", parent)
	}
	for _, property := range s.Properties {
		value, err := l.schema(property.value)
		if err != nil {
			return err
		}
		each, err := l.field(value)
		if err != nil {
			return err
		}
		each.parent, each.name, each.required = parent, property.name, slices.Contains(s.Required, property.name)
		at := len(l.list)
		l.list = append(l.list, each)
		if same, err := l.addNested(property.value, parent+property.name); err != nil {
			return err
		} else if same != "" {
			l.list[at].bounds = append(l.list[at].bounds, bound{"parts as in", []string{same}})
		}
	}
	return nil
}

// addNested lists the fields inside a value: of objects, array elements, map values and anyOf branches. If they
// are listed already, it returns the field that has them.
func (l *fieldLister) addNested(s *schema, name string) (same string, err error) {
	if s.Ref != "" {
		resolved, err := l.schema(s)
		if err != nil || !resolved.hasNested() {
			return "", err
		}
		if same := l.listedUnder[s.Ref]; same != "" {
			return same, nil
		}
		l.listedUnder[s.Ref] = name
		s = resolved
	}
	additional := s.mapValues()
	switch {
	case s.Items != nil:
		return l.addNested(s.Items, name+"[]")
	case additional != nil:
		return l.addNested(additional, name+".*")
	}
	for _, branch := range s.AnyOf {
		if _, err := l.addNested(branch, name); err != nil {
			return "", err
		}
	}
	return "", l.add(s, name+".")
}

// hasNested reports whether values of the schema have nested fields.
func (s *schema) hasNested() bool {
	return len(s.Properties) > 0 || s.Items != nil || s.mapValues() != nil || len(s.AnyOf) > 0
}

// mapValues returns the schema of the values of a map, or nil if s is not a map.
func (s *schema) mapValues() *schema {
	if len(s.Additional) == 0 || s.Additional.Kind() != '{' {
		return nil
	}
	var values schema
	if json.Unmarshal(s.Additional, &values) != nil {
		return nil
	}
	return &values
}
