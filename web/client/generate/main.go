// Command generate writes the types and methods of the Go client. Its argument is the path of the OpenAPI document.
package main

import (
	"bytes"
	"fmt"
	"go/format"
	"maps"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// header is the header of both files.
const header = "// Code generated from web/openapi.yaml by web/client/generate. DO NOT EDIT.\n\npackage client\n\n"

func main() {
	if err := generate(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var d document
	if err := yaml.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	w := &writer{document: &d, types: map[string]string{}}
	calls := w.operations()
	for name, s := range d.Components.Schemas {
		w.declare(exportedName(name), s)
	}
	var types bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(w.types)) {
		types.WriteString(w.types[name])
	}
	imports := "import (\n\t\"context\"\n\t\"net/url\"\n\t\"strconv\"\n)\n\n"
	for file, source := range map[string]string{
		"types.go": header + "import \"encoding/json\"\n\n" + types.String(), "calls.go": header + imports + calls,
	} {
		formatted, err := format.Source([]byte(source))
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := os.WriteFile(file, formatted, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// document is the part of the OpenAPI document that the generator reads.
type document struct {
	Paths      map[string]map[string]yaml.Node `yaml:"paths"`
	Components struct {
		Schemas    map[string]*schema   `yaml:"schemas"`
		Parameters map[string]parameter `yaml:"parameters"`
	} `yaml:"components"`
}

type parameter struct {
	Ref         string  `yaml:"$ref"`
	Name        string  `yaml:"name"`
	In          string  `yaml:"in"`
	Description string  `yaml:"description"`
	Schema      *schema `yaml:"schema"`
}

type operation struct {
	ID          string                  `yaml:"operationId"`
	Summary     string                  `yaml:"summary"`
	Parameters  []parameter             `yaml:"parameters"`
	RequestBody struct{ Content media } `yaml:"requestBody"`
	Responses   map[string]struct {
		Content media `yaml:"content"`
	} `yaml:"responses"`
}

type media map[string]struct {
	Schema *schema `yaml:"schema"`
}

func (m media) json() *schema { return m["application/json"].Schema }

type schema struct {
	AllOf       []*schema          `yaml:"allOf"`
	Ref         string             `yaml:"$ref"`
	Type        kinds              `yaml:"type"`
	Description string             `yaml:"description"`
	Properties  map[string]*schema `yaml:"properties"`
	Required    []string           `yaml:"required"`
	Items       *schema            `yaml:"items"`
	Additional  yaml.Node          `yaml:"additionalProperties"`
	Const       any                `yaml:"const"`
}

// kinds are the types of a schema. In the document, it is a string or a list.
type kinds []string

// UnmarshalYAML implements yaml.Unmarshaler.
func (k *kinds) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*k = kinds{node.Value}
		return nil
	}
	return node.Decode((*[]string)(k))
}

// exportedName converts a name of the document to an exported Go name.
func exportedName(name string) string {
	var out strings.Builder
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_-.$", r) }) {
		switch word {
		case "id", "url", "ui", "pos":
			out.WriteString(strings.ToUpper(word))
		case "ids", "urls":
			out.WriteString(strings.ToUpper(word[:len(word)-1]) + "s")
		default:
			out.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return out.String()
}
