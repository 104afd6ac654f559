// Package catalogue describes what the hub sends: of every event type when it is
// sent and what to do with it, the JSON Schema of its body, and a sample. The
// files of the folder events are the one place where this is written; the API,
// the OpenAPI document, the reference, test events and the tests take it from here.
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

// Entry is what there is to know of an event type. Title and Description are
// those of the schema, in which code stands between backquotes.
type Entry struct {
	Type        core.EventType `json:"event_type"`
	Number      int            `json:"number,omitzero"` // the numeric id, where it has one
	Title       string         `json:"title"`
	Description string         `json:"description"`
	Schema      jsontext.Value `json:"schema"` // JSON Schema 2020-12; its references stay inside it
	Sample      jsontext.Value `json:"sample"` // a body that is valid by the schema
}

//go:embed events
var files embed.FS

// entries reads the files, once.
var entries = sync.OnceValue(func() []Entry {
	list := make([]Entry, len(core.EventTypes()))
	for i, event := range core.EventTypes() {
		entry := Entry{Type: event, Number: event.Number(), Schema: readFile(event, "schema"),
			Sample: readFile(event, "sample")}
		if err := json.Unmarshal(entry.Schema, &entry); err != nil { // its title and description
			panic(fmt.Sprintf("catalogue: the embedded schema of %s: %v", event, err)) // a test reads it too
		}
		list[i] = entry
	}
	return list
})

// readFile is an embedded file without its white space.
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

// All is every event type, in the order of core.EventTypes. The bytes in it are
// shared: they are not to be changed.
func All() []Entry { return slices.Clone(entries()) }

// Lookup is the entry of an event type; false where there is none.
func Lookup(event core.EventType) (Entry, bool) {
	for _, entry := range entries() {
		if entry.Type == event {
			return entry, true
		}
	}
	return Entry{}, false
}

// Schema is the JSON Schema (2020-12) of the bodies of an event type, nil where
// there is no such type.
func Schema(event core.EventType) []byte {
	entry, _ := Lookup(event)
	return slices.Clone(entry.Schema)
}

// Sample is a body of an event type as the hub might send it, nil where there is
// no such type.
func Sample(event core.EventType) []byte {
	entry, _ := Lookup(event)
	return slices.Clone(entry.Sample)
}
