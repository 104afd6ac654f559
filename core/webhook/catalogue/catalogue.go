// Package catalogue describes the events that the hub sends: when, what a receiver does with them, the JSON Schema of
// the body, and a sample. The files in the folder events are the only source of these. The API, the OpenAPI document,
// the reference, test events and the tests use them.
package catalogue

import (
	"embed"
	"fmt"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// Entry describes an event type. Title and Description come from the schema, and mark code with backquotes.
type Entry struct {
	Type        core.EventType `json:"event_type"`
	Number      int            `json:"number,omitzero"` // the numeric id; 0: none
	Title       string         `json:"title"`
	Description string         `json:"description"`
	Schema      jsontext.Value `json:"schema"` // JSON Schema 2020-12, without references to other documents
	Sample      jsontext.Value `json:"sample"` // a body that is valid against the schema
}

//go:embed events
var files embed.FS

// entries reads the files on first use.
var entries = sync.OnceValue(func() []Entry {
	list := make([]Entry, len(core.EventTypes()))
	for i, event := range core.EventTypes() {
		entry := Entry{Type: event, Number: event.Number(), Schema: readFile(event, "schema"),
			Sample: readFile(event, "sample")}
		if err := json.Unmarshal(entry.Schema, &entry); err != nil { // reads title and description
			panic(fmt.Sprintf("catalogue: the embedded schema of %s: %v", event, err)) // a test covers every file
		}
		list[i] = entry
	}
	return list
})

// readFile returns an embedded file without insignificant white space.
func readFile(event core.EventType, kind string) jsontext.Value {
	raw, err := files.ReadFile(fmt.Sprintf("events/%s.%s.json", event, kind))
	value := jsontext.Value(raw)
	if err == nil {
		err = value.Compact()
	}
	if err != nil {
		panic(fmt.Sprintf("catalogue: the embedded %s of %s: %v", kind, event, err))
	}
	return value
}

// All returns every entry, in the order of core.EventTypes. The caller must not modify the byte slices.
func All() []Entry { return slices.Clone(entries()) }

// Lookup returns the entry of an event type, or false if it is unknown.
func Lookup(event core.EventType) (Entry, bool) {
	for _, entry := range entries() {
		if entry.Type == event {
			return entry, true
		}
	}
	return Entry{}, false
}

// Sample returns a sample body of an event type, or nil if the type is unknown.
func Sample(event core.EventType) []byte {
	entry, _ := Lookup(event)
	return slices.Clone(entry.Sample)
}
