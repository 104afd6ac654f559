package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// writer generates Go source. The map types contains the generated types by name.
type writer struct {
	document *document
	types    map[string]string
}

// declare generates the type with a name from a schema.
func (w *writer) declare(name string, s *schema) {
	if _, ok := w.types[name]; ok {
		return
	}
	w.types[name] = "" // for recursive types
	s = w.merged(s)
	comment := fmt.Sprintf("// %s is described in the API reference.\n", name)
	if text := firstSentence(s.Description); text != "" {
		comment = fmt.Sprintf("// %s: %s\n", name, text)
	}
	if !s.structured() {
		w.types[name] = comment + "type " + name + " = " + w.typeOf(name+"Value", s) + "\n\n"
		return
	}
	var fields strings.Builder
	for _, property := range slices.Sorted(maps.Keys(s.Properties)) {
		p, required := s.Properties[property], slices.Contains(s.Required, property)
		kind, tag := w.typeOf(name+exportedName(property), p), property
		if !required || w.nullable(p) {
			if !strings.HasPrefix(kind, "[]") && !strings.HasPrefix(kind, "map[") && kind != "json.RawMessage" {
				kind = "*" + kind
			}
			tag += ",omitzero"
		}
		fmt.Fprintf(&fields, "\t%s %s `json:%q`", exportedName(property), kind, tag)
		if text := firstSentence(p.Description); text != "" {
			fields.WriteString(" // " + text)
		}
		fields.WriteString("\n")
	}
	w.types[name] = comment + "type " + name + " struct {\n" + fields.String() + "}\n\n"
}

func (s *schema) structured() bool { return s.Ref == "" && len(s.Properties) > 0 }

// typeOf returns the Go type of a schema. It declares an object type under the name.
func (w *writer) typeOf(name string, s *schema) string {
	if s == nil {
		return "json.RawMessage"
	}
	if s.Ref != "" {
		return exportedName(s.Ref[strings.LastIndexByte(s.Ref, '/')+1:])
	}
	s = w.merged(s)
	types := slices.DeleteFunc(slices.Clone(s.Type), func(t string) bool { return t == "null" })
	if s.structured() {
		w.declare(name, s)
		return name
	}
	if _, fixed := s.Const.(string); fixed {
		types = kinds{"string"}
	}
	if len(types) != 1 {
		return "json.RawMessage"
	}
	switch types[0] {
	case "array":
		return "[]" + w.typeOf(name, s.Items)
	case "string":
		return "string"
	case "integer":
		return "int64"
	case "number":
		return "json.Number" // keeps all digits
	case "boolean":
		return "bool"
	}
	var values schema
	if s.Additional.Decode(&values) == nil && (values.Ref != "" || len(values.Type) > 0) {
		return "map[string]" + w.typeOf(name+"Value", &values)
	}
	return "json.RawMessage"
}

// merged returns a schema with the properties of its allOf parts.
func (w *writer) merged(s *schema) *schema {
	if len(s.AllOf) == 0 {
		return s
	}
	all := *s
	all.AllOf, all.Properties = nil, maps.Clone(s.Properties)
	if all.Properties == nil {
		all.Properties = map[string]*schema{}
	}
	for _, part := range s.AllOf {
		if part.Ref != "" {
			part = w.document.Components.Schemas[part.Ref[strings.LastIndexByte(part.Ref, '/')+1:]]
		}
		part = w.merged(part)
		maps.Copy(all.Properties, part.Properties)
		all.Required = append(slices.Clone(all.Required), part.Required...)
		if len(all.Type) == 0 {
			all.Type = part.Type
		}
	}
	return &all
}

func (w *writer) nullable(s *schema) bool {
	if s.Ref != "" {
		s = w.document.Components.Schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]]
	}
	return s != nil && slices.Contains(s.Type, "null")
}

// firstSentence returns the first sentence of a description, on one line.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if end := strings.Index(text, ". "); end >= 0 {
		text = text[:end]
	}
	return strings.TrimSuffix(text, ".")
}
