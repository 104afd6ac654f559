// Package eventtest checks webhook bodies in tests against the schemas of the event catalogue.
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

// schemas returns the compiled schemas by event type. They also assert formats.
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

// Validate returns an error if a body does not match the schema of its event type.
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

// Check fails the test if a body does not match the schema of its event type. It is safe for concurrent use.
func Check(t testing.TB, event core.EventType, body []byte) {
	t.Helper()
	if err := Validate(event, body); err != nil {
		t.Errorf("%s: %v in %.2000s", event, err, body)
	}
}
