// Package eventtest holds bodies that the hub sends in tests against the schemas
// of the catalogue.
package eventtest

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook/catalogue"
)

// schemas are the compiled schemas by event type, their formats asserted.
var schemas = sync.OnceValues(func() (map[core.EventType]*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiled := map[core.EventType]*jsonschema.Schema{}
	for _, entry := range catalogue.All() {
		address := "https://catalogue.invalid/" + string(entry.Type)
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(entry.Schema))
		if err != nil {
			return nil, err
		}
		if err := compiler.AddResource(address, document); err != nil {
			return nil, err
		}
		if compiled[entry.Type], err = compiler.Compile(address); err != nil {
			return nil, err
		}
	}
	return compiled, nil
})

// Validate tells what is wrong with a body of an event type, nil for nothing.
func Validate(event core.EventType, body []byte) error {
	all, err := schemas()
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	schema, known := all[event]
	if !known {
		return fmt.Errorf("the catalogue has no event type %q", event)
	}
	return schema.Validate(value)
}

// Check fails the test when a body is not valid by the schema of its event type.
// It may be called by any goroutine.
func Check(t testing.TB, event core.EventType, body []byte) {
	t.Helper()
	if err := Validate(event, body); err != nil {
		t.Errorf("%s: %v in %.2000s", event, err, body)
	}
}
