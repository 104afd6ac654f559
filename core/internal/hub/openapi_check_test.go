package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/web"
)

// componentSchemas is the address of the document's named schemas.
const componentSchemas = "https://api.invalid/schemas"

// openAPISchemas compiles the schema of each kind of response once. Compiling one takes longer than most requests.
type openAPISchemas struct {
	router   routers.Router
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[*openapi3.MediaType]*jsonschema.Schema
}

// openAPIDescription is the OpenAPI document. Every response is checked against it.
var openAPIDescription = sync.OnceValues(func() (*openAPISchemas, error) {
	document, err := openapi3.NewLoader().LoadFromData(web.OpenAPI())
	if err != nil {
		return nil, err
	}
	document.Servers = nil
	router, err := gorillamux.NewRouter(document)
	if err != nil {
		return nil, err
	}
	s := &openAPISchemas{router: router, compiler: jsonschema.NewCompiler(),
		compiled: map[*openapi3.MediaType]*jsonschema.Schema{}}
	s.compiler.DefaultDraft(jsonschema.Draft2020)
	s.compiler.AssertFormat()
	return s, s.add(componentSchemas, map[string]any{"$defs": document.Components.Schemas})
})

// add makes a schema known to the compiler. Its references to named schemas become references to componentSchemas.
func (s *openAPISchemas) add(address string, schema any) error {
	text, err := json.Marshal(schema)
	if err != nil {
		return err
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(bytes.ReplaceAll(text, []byte(`"#/components/schemas/`),
		[]byte(`"`+componentSchemas+`#/$defs/`))))
	if err != nil {
		return err
	}
	return s.compiler.AddResource(address, parsed)
}

// of returns the compiled schema of a content.
func (s *openAPISchemas) of(content *openapi3.MediaType) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if schema := s.compiled[content]; schema != nil {
		return schema, nil
	}
	address := fmt.Sprintf("https://api.invalid/response/%d", len(s.compiled))
	if err := s.add(address, content.Schema); err != nil {
		return nil, err
	}
	schema, err := s.compiler.Compile(address)
	if err == nil {
		s.compiled[content] = schema
	}
	return schema, err
}

// validate checks the body of a response of the type JSON.
func (s *openAPISchemas) validate(content *openapi3.MediaType, text []byte) error {
	schema, err := s.of(content)
	if err != nil {
		return err
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(body)
}

// checkAgainstOpenAPI checks a response. A request that the document does not describe must return 404 or 405, unless
// it is a preflight request.
func checkAgainstOpenAPI(t *testing.T, c request, response *http.Response, text []byte) {
	t.Helper()
	schemas, err := openAPIDescription()
	require.NoError(t, err)
	path, query, _ := strings.Cut(c.path, "?")
	if (strings.HasPrefix(path, "/ext") || strings.HasPrefix(path, "/channel/")) && !strings.HasSuffix(path, "/") {
		path += "/"
	}
	request := httptest.NewRequest(c.method, path+"?"+query, bytes.NewReader(nil))
	route, parameters, err := schemas.router.FindRoute(request)
	if err != nil && c.method == http.MethodOptions && response.StatusCode == http.StatusNoContent {
		return // a preflight request
	}
	if err != nil {
		require.Contains(t, []int{http.StatusNotFound, http.StatusMethodNotAllowed}, response.StatusCode,
			"%s %s is not described", c.method, c.path)
		return
	}
	content := jsonContent(route.Operation, response)
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: request, PathParams: parameters,
			Route: route},
		Status: response.StatusCode, Header: response.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true,
			ExcludeResponseBody: content != nil},
	}
	input.SetBodyBytes(text)
	err = openapi3filter.ValidateResponse(context.Background(), input)
	if err == nil && content != nil && c.method != http.MethodHead {
		err = schemas.validate(content, text)
	}
	require.NoError(t, err, "%s %s: %d %s", c.method, c.path, response.StatusCode, text)
}

// jsonContent returns what the document says about the body of a response, nil if that is not JSON with a schema.
func jsonContent(operation *openapi3.Operation, response *http.Response) *openapi3.MediaType {
	kind := response.Header.Get("Content-Type")
	described := operation.Responses.Status(response.StatusCode)
	if described == nil {
		described = operation.Responses.Default()
	}
	if described == nil || described.Value == nil || !strings.HasPrefix(kind, "application/json") {
		return nil
	}
	content := described.Value.Content.Get(kind)
	if content == nil || content.Schema == nil {
		return nil
	}
	return content
}

func TestOpenAPICheckRefusesOtherBodies(t *testing.T) {
	schemas, err := openAPIDescription()
	require.NoError(t, err)
	route, _, err := schemas.router.FindRoute(httptest.NewRequest("POST", storesRoute, nil))
	require.NoError(t, err)
	content := route.Operation.Responses.Status(http.StatusOK).Value.Content.Get("application/json")
	const accepted = `{"status":"success","reference":"01937a5b-30c4-7e18-8c52-b0a9d7f36e21",` +
		`"message":"1 store queued"}`
	require.NoError(t, schemas.validate(content, []byte(accepted)))
	require.Error(t, schemas.validate(content, []byte(`[]`)))
	require.Error(t, schemas.validate(content, []byte(strings.ReplaceAll(accepted, "01937a5b-", "1"))), "no UUID")
	require.Error(t, schemas.validate(content, []byte(strings.Replace(accepted, `"success"`, "1", 1))))
}
