package web

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook/catalogue"
)

// expandEvents replaces the template webhook of openapi.yaml by one webhook for each event type. The names in angle
// brackets are its variables. It also fills in the lists of event types and their numbers.
func expandEvents(document *yaml.Node) error {
	lists, err := eventLists()
	if err != nil {
		return err
	}
	document.Content[0] = substitute(document.Content[0], lists)
	root := document.Content[0]
	webhooks, schemas := mappingValue(root, "webhooks"), mappingValue(mappingValue(root, "components"), "schemas")
	pattern := *webhooks
	webhooks.Content = nil
	for _, entry := range catalogue.All() {
		values, definitions, err := templateValues(entry)
		if err != nil {
			return fmt.Errorf("%s: %w", entry.Type, err)
		}
		webhooks.Content = append(webhooks.Content, substitute(&pattern, values).Content...)
		schemas.Content = append(schemas.Content, definitions...)
	}
	return nil
}

// eventLists returns the names of the event types, and their numbers as integers and as text.
func eventLists() (map[string]*yaml.Node, error) {
	var numbers, texts []any
	for _, event := range core.EventTypes() {
		if number := event.Number(); number != 0 {
			numbers, texts = append(numbers, number), append(texts, strconv.Itoa(number))
		}
	}
	return nodesOf(map[string]any{"<event_types>": core.EventTypes(), "<event_numbers>": append(numbers, texts...)})
}

// templateValues returns the value of each template variable for an event type. It also returns the definitions of its
// schema as components.
func templateValues(entry catalogue.Entry) (values map[string]*yaml.Node, definitions []*yaml.Node, err error) {
	var schema struct {
		Dialect     string         `json:"$schema"`
		Title       string         `json:"title"`
		Description string         `json:"description"`
		Definitions jsontext.Value `json:"$defs"`
		Body        jsontext.Value `json:",embed"`
	}
	prefix := string(entry.Type) + "."
	local := strings.ReplaceAll(string(entry.Schema), `"#/$defs/`, `"#/components/schemas/`+prefix)
	if err := json.Unmarshal([]byte(local), &schema); err != nil {
		return nil, nil, err
	}
	var number any
	if entry.Number != 0 {
		number = entry.Number
	}
	values, err = nodesOf(map[string]any{
		"<event_type>": entry.Type, "<operation>": camelCase(string(entry.Type)), "<number>": number,
		"<title>":       schema.Title,
		"<description>": schema.Description, "<schema>": schema.Body, "<sample>": entry.Sample,
		"<definitions>": schema.Definitions,
	})
	if err != nil {
		return nil, nil, err
	}
	definitions = values["<definitions>"].Content
	for i := 0; i < len(definitions); i += 2 {
		definitions[i].Value = prefix + definitions[i].Value
	}
	return values, definitions, nil
}

// nodesOf returns values as YAML.
func nodesOf(values map[string]any) (map[string]*yaml.Node, error) {
	nodes := make(map[string]*yaml.Node, len(values))
	for name, value := range values {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		var read yaml.Node // JSON is a subset of YAML
		if err := yaml.Unmarshal(text, &read); err != nil {
			return nil, err
		}
		nodes[name] = read.Content[0]
	}
	return nodes, nil
}

// substitute returns a copy of a node with its variables replaced.
func substitute(n *yaml.Node, values map[string]*yaml.Node) *yaml.Node {
	if value, named := values[n.Value]; named {
		return value
	}
	copied := *n
	copied.Content = make([]*yaml.Node, len(n.Content))
	for i, child := range n.Content {
		copied.Content[i] = substitute(child, values)
	}
	return &copied
}

// mappingValue returns the value of a key in a mapping, or an empty node.
func mappingValue(mapping *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i+1]
		}
	}
	return new(yaml.Node)
}

// camelCase converts order_placed to orderPlaced.
func camelCase(name string) string {
	first, rest, more := strings.Cut(name, "_")
	if !more {
		return first
	}
	rest = camelCase(rest)
	return first + strings.ToUpper(rest[:1]) + rest[1:]
}
