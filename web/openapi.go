package web

import (
	"bytes"
	_ "embed"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

//go:embed openapi.yaml
var openAPIYAML []byte

// OpenAPI is the description of the interface (OpenAPI 3.1) as JSON, its names
// in the order in which they were written down, and the event types in it.
var OpenAPI = sync.OnceValue(func() []byte {
	var document yaml.Node
	var out bytes.Buffer
	if err := yaml.Unmarshal(openAPIYAML, &document); err != nil {
		panic(fmt.Sprintf("web: the embedded openapi.yaml: %v", err)) // a test reads it too
	}
	if err := expandEvents(&document); err != nil {
		panic(fmt.Sprintf("web: the catalogue of event types: %v", err))
	}
	if err := writeNode(jsontext.NewEncoder(&out), &document); err != nil {
		panic(fmt.Sprintf("web: the embedded openapi.yaml: %v", err))
	}
	return out.Bytes()
})

// writeNode writes YAML as JSON and keeps the order of names.
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
	open, shut := jsontext.BeginArray, jsontext.EndArray
	if n.Kind == yaml.MappingNode {
		open, shut = jsontext.BeginObject, jsontext.EndObject
	}
	if err := e.WriteToken(open); err != nil {
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
	return e.WriteToken(shut)
}
