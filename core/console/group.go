package console

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// Group is the failed objects of a callback with one cause.
type Group struct {
	Cause    string   // the common form of the messages, with differences replaced by …; for one object its message
	Count    int      // of objects
	Examples []Failed // the first objects
}

// Failed is an object of a callback that was not applied.
type Failed struct {
	Array   string // such as items
	RefID   string
	Message string
}

// maxExamples bounds the objects listed for a group.
const maxExamples = 20

// outcome is the part of a callback's object that is decoded.
type outcome struct {
	RefID  string `json:"ref_id"`
	Code   string `json:"code"` // of taxes and charges
	Title  string `json:"title"`
	Status struct {
		Error   bool   `json:"error"`
		Message string `json:"err_msg"`
	} `json:"upipr_status"`
}

// varyingParts matches the parts in which messages of one cause differ: names in quotes and numbers.
var varyingParts = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\d+(?:\.\d+)?`)

// GroupErrors groups the errors of a callback (store_creation, inventory_update) by cause, the most frequent first. It
// returns none for any other body.
func GroupErrors(callback []byte) []Group {
	decoder := jsontext.NewDecoder(bytes.NewReader(callback), jsontext.AllowDuplicateNames(true))
	if decoder.PeekKind() != '{' {
		return nil
	}
	_, _ = decoder.ReadToken()
	byCause := map[string]*Group{}
	for decoder.PeekKind() == '"' {
		name, err := decoder.ReadToken()
		if err != nil {
			break
		}
		array := name.String()
		if decoder.PeekKind() != '[' {
			if decoder.SkipValue() != nil {
				break
			}
			continue
		}
		if !readArray(decoder, array, byCause) {
			break
		}
	}
	return sorted(byCause)
}

// GroupResultErrors groups the failed objects that are stored with a job's result. It is for jobs whose callback has
// expired.
func GroupResultErrors(result []byte) []Group {
	var stored struct {
		Failed []core.FailedObject `json:"failed"`
	}
	if json.Unmarshal(result, &stored) != nil {
		return nil
	}
	byCause := map[string]*Group{}
	for _, f := range stored.Failed {
		addFailed(byCause, Failed{f.Entity, f.RefID, f.Message})
	}
	return sorted(byCause)
}

func sorted(byCause map[string]*Group) []Group {
	groups := make([]Group, 0, len(byCause))
	for _, group := range byCause {
		if group.Count == 1 {
			group.Cause = group.Examples[0].Message
		}
		groups = append(groups, *group)
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Cause, b.Cause))
	})
	return groups
}

func readArray(decoder *jsontext.Decoder, array string, byCause map[string]*Group) bool {
	if _, err := decoder.ReadToken(); err != nil {
		return false
	}
	for decoder.PeekKind() != ']' {
		raw, err := decoder.ReadValue()
		if err != nil {
			return false
		}
		if !bytes.Contains(raw, []byte(`"err_msg"`)) {
			continue
		}
		var o outcome
		if json.Unmarshal(raw, &o) != nil || !o.Status.Error {
			continue
		}
		addFailed(byCause, Failed{array, cmp.Or(o.RefID, o.Code, o.Title), o.Status.Message})
	}
	_, err := decoder.ReadToken()
	return err == nil
}

func addFailed(byCause map[string]*Group, f Failed) {
	cause := varyingParts.ReplaceAllString(f.Message, "…")
	group := byCause[cause]
	if group == nil {
		group = &Group{Cause: cause}
		byCause[cause] = group
	}
	group.Count++
	if len(group.Examples) < maxExamples {
		group.Examples = append(group.Examples, f)
	}
}
