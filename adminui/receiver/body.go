package receiver

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// Stats is the counts of a store_creation callback.
type Stats struct {
	Created int `json:"created"`
	Updated int `json:"updated"`
	Errors  int `json:"errors"`
}

// maxReference limits the length of a reference.
const maxReference = 64

// summarize returns the reference and the counts of a callback, as far as its body has them.
func summarize(event string, body []byte) (reference string, stats *Stats) {
	var callback struct {
		Reference   string         `json:"reference"`
		ReferenceID string         `json:"reference_id"`
		Stats       jsontext.Value `json:"stats"`
	}
	if err := json.Unmarshal(body, &callback, jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true)); err != nil {
		return "", nil
	}
	if reference = callback.Reference; reference == "" {
		reference = callback.ReferenceID
	}
	if len(reference) > maxReference {
		reference = ""
	}
	var counts Stats
	if event == string(core.StoreCreation) && len(callback.Stats) > 0 &&
		json.Unmarshal(callback.Stats, &counts) == nil {
		stats = &counts
	}
	return strings.ToValidUTF8(reference, "?"), stats
}
