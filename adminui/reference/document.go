package reference

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// orderedMap is a JSON object in source order.
type orderedMap[T any] []orderedEntry[T]

type orderedEntry[T any] struct {
	name  string
	value T
}

// UnmarshalJSONFrom decodes an object in source order.
func (m *orderedMap[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return fmt.Errorf("an object is needed: %w", err)
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		next := orderedEntry[T]{name: name.String()}
		if err := json.UnmarshalDecode(d, &next.value); err != nil {
			return err
		}
		*m = append(*m, next)
	}
	_, err := d.ReadToken()
	return err
}

func (m orderedMap[T]) get(name string) (value T, found bool) {
	for _, each := range m {
		if each.name == name {
			return each.value, true
		}
	}
	return value, false
}

// document is the part of an OpenAPI 3.1 document that the pages show.
type document struct {
	Info struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Summary     string `json:"summary"`
		Description string `json:"description"`
	} `json:"info"`
	Tags       []tag                `json:"tags"`
	Paths      orderedMap[pathItem] `json:"paths"`
	Webhooks   orderedMap[pathItem] `json:"webhooks"`
	Components struct {
		Schemas    orderedMap[*schema]    `json:"schemas"`
		Responses  orderedMap[*response]  `json:"responses"`
		Parameters orderedMap[*parameter] `json:"parameters"`
		Headers    orderedMap[*parameter] `json:"headers"`
	} `json:"components"`
}

type tag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

type pathItem struct {
	Parameters []*parameter `json:"parameters"`
	Get        *operation   `json:"get"`
	Post       *operation   `json:"post"`
	Put        *operation   `json:"put"`
	Patch      *operation   `json:"patch"`
	Delete     *operation   `json:"delete"`
}

type operation struct {
	ID          string              `json:"operationId"`
	Tags        []string            `json:"tags"`
	Summary     string              `json:"summary"`
	Description string              `json:"description"`
	Security    *[]map[string][]any `json:"security"`
	Scope       string              `json:"x-scope"`
	RateLimit   *rateLimit          `json:"x-rate-limit"`
	EventNumber int                 `json:"x-event-number"` // of callbacks
	Parameters  []*parameter        `json:"parameters"`
	RequestBody *struct {
		Content orderedMap[media] `json:"content"`
	} `json:"requestBody"`
	Responses orderedMap[*response] `json:"responses"`
}

type rateLimit struct {
	Limit     int    `json:"limit"`
	Window    int    `json:"window_seconds"`
	Block     int    `json:"block_seconds"`
	CountedBy string `json:"counted_by"`
	Setting   string `json:"setting"`
}

type parameter struct {
	Ref         string         `json:"$ref"`
	Name        string         `json:"name"`
	In          string         `json:"in"`
	Required    bool           `json:"required"`
	Description string         `json:"description"`
	Schema      *schema        `json:"schema"`
	Example     jsontext.Value `json:"example"`
}

type media struct {
	Schema   *schema        `json:"schema"`
	Example  jsontext.Value `json:"example"`
	Examples orderedMap[struct {
		Summary string         `json:"summary"`
		Value   jsontext.Value `json:"value"`
	}] `json:"examples"`
}

type response struct {
	Ref         string                 `json:"$ref"`
	Description string                 `json:"description"`
	Headers     orderedMap[*parameter] `json:"headers"`
	Content     orderedMap[media]      `json:"content"`
}

// component returns the last segment of a reference such as #/components/schemas/Store.
func component(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

func (d *document) parameter(p *parameter) (*parameter, error) {
	if p.Ref == "" {
		return p, nil
	}
	if found, ok := d.Components.Parameters.get(component(p.Ref)); ok {
		return found, nil
	}
	return nil, fmt.Errorf("%s does not exist", p.Ref)
}

func (d *document) header(p *parameter) (*parameter, error) {
	if p.Ref == "" {
		return p, nil
	}
	if found, ok := d.Components.Headers.get(component(p.Ref)); ok {
		return found, nil
	}
	return nil, fmt.Errorf("%s does not exist", p.Ref)
}
