package web

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/retry"
)

//go:embed openapi.yaml
var openAPIYAML []byte

// OpenAPI returns the OpenAPI 3.1 document as JSON, with all event types. It keeps the order of openapi.yaml.
var OpenAPI = sync.OnceValue(func() []byte {
	var document yaml.Node
	var out bytes.Buffer
	if err := yaml.Unmarshal(openAPIYAML, &document); err != nil {
		panic(fmt.Sprintf("web: the embedded openapi.yaml: %v", err)) // a test parses it
	}
	if err := expandEvents(&document); err != nil {
		panic(fmt.Sprintf("web: the catalogue of event types: %v", err))
	}
	fillIn(&document, retry.Documented())
	fillIn(&document, menu.Documented())
	if err := writeNode(jsontext.NewEncoder(&out), &document); err != nil {
		panic(fmt.Sprintf("web: the embedded openapi.yaml: %v", err))
	}
	return out.Bytes()
})

// fillIn replaces the variables in the texts of a document.
func fillIn(n *yaml.Node, variables *strings.Replacer) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		n.Value = variables.Replace(n.Value)
	}
	for _, child := range n.Content {
		fillIn(child, variables)
	}
}

// writeNode writes YAML as JSON in the same order.
func writeNode(e *jsontext.Encoder, n *yaml.Node) error {
	var value any
	switch n.Kind {
	case yaml.DocumentNode:
		return writeNode(e, n.Content[0])
	case yaml.AliasNode:
		return writeNode(e, n.Alias)
	case yaml.ScalarNode:
		if err := n.Decode(&value); err != nil {
			return err
		}
		return json.MarshalEncode(e, value)
	}
	begin, end := jsontext.BeginArray, jsontext.EndArray
	if n.Kind == yaml.MappingNode {
		begin, end = jsontext.BeginObject, jsontext.EndObject
	}
	if err := e.WriteToken(begin); err != nil {
		return err
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if err := e.WriteToken(jsontext.String(child.Value)); err != nil {
				return err
			}
			continue
		}
		if err := writeNode(e, child); err != nil {
			return err
		}
	}
	return e.WriteToken(end)
}
