package receiver

import (
	"bytes"
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

// pretty indents JSON up to about limit bytes of output. It shows a truncated body up to the cut, and other bodies
// as text.
func pretty(body []byte, limit int) (text string, complete bool) {
	var out bytes.Buffer
	lenient := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	decoder := jsontext.NewDecoder(bytes.NewReader(body), lenient...)
	encoder := jsontext.NewEncoder(&out, append(lenient, jsontext.WithIndent("  "), jsontext.SpaceAfterColon(true))...)
	tokens := 0
	for ; encoder.OutputOffset() < int64(limit); tokens++ {
		token, err := decoder.ReadToken()
		if err == nil {
			err = encoder.WriteToken(token)
		}
		if err != nil {
			break
		}
	}
	if tokens < 2 && (tokens == 0 || decoder.StackDepth() > 0) { // not JSON, or truncated at once
		shown := body[:min(len(body), limit)]
		return strings.ToValidUTF8(string(shown), "\uFFFD"), len(shown) == len(body)
	}
	complete = decoder.StackDepth() == 0 && len(bytes.TrimSpace(body[decoder.InputOffset():])) == 0
	return strings.ToValidUTF8(strings.TrimRight(out.String(), "\n"), "\uFFFD"), complete
}
