package web

import (
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
)

// releasedFile is the API of the last release. It is written by
//
//	RELEASE=1 go test -run OnlyGrows ./web
const releasedFile = "testdata/released.txt"

// apiSurface is a list of the properties of the API that clients may rely on:
//
//	takes GET /orders/ ?limit string           a parameter, field or value of requests
//	requires Store .ref_id                     a required field
//	gives GET /orders/ 200 -> OrderPage        a response
//	gives OrderPage .orders[] -> OrderSummary  a field of responses and events
//	always OrderPage .orders                   a field that is always present
type apiSurface struct {
	lines map[string]bool
	seen  map[string]bool // named schemas that are already added, by direction
}

func (s *apiSurface) add(words ...string) { s.lines[strings.Join(words, " ")] = true }

// schema adds the schema at a path of a named schema or operation.
func (s *apiSurface) schema(out bool, owner, at string, ref *openapi3.SchemaRef) {
	if ref == nil || ref.Value == nil {
		return
	}
	verb, must := "takes", "requires"
	if out {
		verb, must = "gives", "always"
	}
	if name := strings.TrimPrefix(ref.Ref, "#/components/schemas/"); name != ref.Ref {
		s.add(verb, owner, at, "->", name)
		if s.seen[verb+name] {
			return
		}
		s.seen[verb+name] = true
		owner, at = name, ""
	}
	of := ref.Value
	if of.Type != nil && out {
		types := slices.Sorted(slices.Values(of.Type.Slice()))
		s.add(verb, owner, at, strings.Join(types, "|"))
	} else if of.Type != nil {
		for _, one := range of.Type.Slice() {
			s.add(verb, owner, at, one)
		}
		for _, value := range of.Enum {
			if text, ok := value.(string); ok {
				s.add(verb, owner, at, "= "+text)
			}
		}
	}
	for _, field := range of.Required {
		s.add(must, owner, at+"."+field)
	}
	for name, property := range of.Properties {
		s.schema(out, owner, at+"."+name, property)
	}
	s.schema(out, owner, at+"[]", of.Items)
	s.schema(out, owner, at+".*", of.AdditionalProperties.Schema)
	for _, list := range []openapi3.SchemaRefs{of.AllOf, of.AnyOf, of.OneOf} {
		for _, one := range list {
			s.schema(out, owner, at, one)
		}
	}
}

func (s *apiSurface) operation(name string, o *openapi3.Operation) {
	for _, parameter := range o.Parameters {
		p := parameter.Value
		s.schema(false, name, "?"+p.Name, p.Schema)
		if p.Required {
			s.add("requires", name, "?"+p.Name)
		}
	}
	if o.RequestBody != nil {
		for _, media := range o.RequestBody.Value.Content {
			s.schema(false, name, "", media.Schema)
		}
	}
	for status, response := range o.Responses.Map() {
		s.add("gives", name, status)
		for _, media := range response.Value.Content {
			s.schema(true, name, status, media.Schema)
		}
	}
}

func surfaceOf(document *openapi3.T) *apiSurface {
	s := &apiSurface{map[string]bool{}, map[string]bool{}}
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			s.operation(method+" "+path, operation)
		}
	}
	for event, item := range document.Webhooks {
		for _, media := range item.Post.RequestBody.Value.Content {
			s.schema(true, "event "+event, "", media.Schema)
		}
	}
	return s
}

// brokenLines returns what would break clients of the released API.
func brokenLines(released, now map[string]bool) (lines []string) {
	for line := range released {
		if !now[line] && !strings.HasPrefix(line, "requires ") {
			lines = append(lines, "gone: "+line)
		}
	}
	for line := range now {
		rest, must := strings.CutPrefix(line, "requires ")
		if !must || released[line] {
			continue
		}
		// A new field may be required only in a new object.
		parent := rest[:max(strings.LastIndexAny(rest, ".?"), 0)]
		for old := range released {
			if of, taken := strings.CutPrefix(old, "takes "); taken &&
				strings.HasPrefix(of, strings.TrimSpace(parent)+" ") {
				lines = append(lines, "newly required: "+rest)
				break
			}
		}
	}
	sort.Strings(lines)
	return lines
}

func TestAPIOnlyGrows(t *testing.T) {
	now := surfaceOf(openAPIDocument(t)).lines
	if os.Getenv("RELEASE") != "" {
		var lines []string
		for line := range now {
			lines = append(lines, line)
		}
		sort.Strings(lines)
		require.NoError(t, os.WriteFile(releasedFile, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	}
	text, err := os.ReadFile(releasedFile)
	require.NoError(t, err)
	released := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		released[strings.TrimSpace(line)] = true
	}
	require.Empty(t, brokenLines(released, now),
		"what integrators build on must stay: see adminui/reference/guides/changes.md")
}

func TestBreakingAPIChangesAreDetected(t *testing.T) {
	released := map[string]bool{
		"takes Store .name string": true, "requires Store .ref_id": true, "takes Store .ref_id string": true,
		"gives Page .next string": true, "always Page .next": true, "takes GET /x ?limit string": true,
	}
	for line, want := range map[string]string{
		"takes Store .city string":  "",
		"gives Page .more boolean":  "",
		"requires Store .city":      "newly required: Store .city",
		"requires GET /x ?limit":    "newly required: GET /x ?limit",
		"requires Tag .name":        "",
		"-takes Store .name string": "gone: takes Store .name string",
		"-gives Page .next string":  "gone: gives Page .next string",
		"-always Page .next":        "gone: always Page .next",
		"-requires Store .ref_id":   "",
	} {
		now := map[string]bool{}
		for one := range released {
			now[one] = true
		}
		if gone, cut := strings.CutPrefix(line, "-"); cut {
			delete(now, gone)
		} else {
			now[line] = true
		}
		require.Equal(t, want, strings.Join(brokenLines(released, now), "; "), line)
	}
}
