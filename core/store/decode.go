package store

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// envelope is the body of a bulk request.
type envelope struct {
	Stores      core.Array `json:"stores"`
	CallbackURL string     `json:"callback_url"` // "" counts as not sent
}

func newEnvelope() envelope { return envelope{Stores: core.Array{Limit: MaxStores}} }

func (e *envelope) limitError() error {
	var v core.Violations
	if e.Stores.Count > e.Stores.Limit {
		v.AddBody("stores", "limit",
			fmt.Sprintf("must have at most %d stores, not %d", e.Stores.Limit, e.Stores.Count))
	}
	return v.Err()
}

// CheckLimits returns the Invalid error of a body that is not JSON or has too many stores. It allocates little, so it
// can check a body that is too large to decode.
func CheckLimits(body []byte) error {
	root := newEnvelope()
	if err := core.DecodeJSON(body, &root, jsontext.AllowDuplicateNames(true)); err != nil {
		return err
	}
	return root.limitError()
}

// Decode decodes the body of a bulk request and checks everything that needs no stored state. Any violation rejects the
// whole request with an Invalid error that names the store and the field.
func Decode(body []byte) (Request, error) {
	root := newEnvelope()
	if err := core.DecodeJSON(body, &root); err != nil {
		return Request{}, err
	}
	var v core.Violations
	request := Request{}
	if root.CallbackURL != "" {
		request.CallbackURL = root.CallbackURL
		if wrong := core.CheckURL(request.CallbackURL); wrong != "" {
			v.AddBody("callback_url", "url", wrong)
		}
	}
	switch {
	case !root.Stores.Sent:
		v.AddBody("stores", "required", "is required, as an array of store objects")
	case root.Stores.Count == 0:
		v.AddBody("stores", "required", "must have at least one store")
	case root.Stores.Count > MaxStores:
		return Request{}, root.limitError()
	}
	stores := root.Stores.Elements(body)
	request.Stores = make([]Submitted, len(stores))
	seen := make(map[string]int, len(stores))
	failures := core.DecodeObjects(stores, func(i int) any { return &request.Stores[i].Object })
	for i, raw := range stores {
		at := core.Object{Array: "stores", Index: i}
		submitted := &request.Stores[i]
		object := &submitted.Object
		submitted.Raw = raw
		if failure := submitted.decodeLenient(failures[i]); failure != nil {
			v.AddFailure(at, raw, failure)
			continue
		}
		if object.RefID != nil {
			at.RefID = *object.RefID
			if first, twice := seen[at.RefID]; twice {
				v.Add(at, "ref_id", "duplicate", fmt.Sprintf("is the same as in stores[%d]", first))
			} else {
				seen[at.RefID] = i
			}
		}
		check(submitted, at, &v)
	}
	return request, v.Err()
}

// decodeUnchecked decodes the body of a stored request without checking its stores, to report them as failed. The
// checks can have become stricter since the request was accepted. Only the ref_id of each store is decoded.
func decodeUnchecked(body []byte) (Request, error) {
	root := newEnvelope()
	if err := core.DecodeJSON(body, &root); err != nil {
		return Request{}, err
	}
	stores := root.Stores.Elements(body)
	named := make([]struct {
		RefID string `json:"ref_id"`
	}, len(stores))
	failures := core.DecodeObjects(stores, func(i int) any { return &named[i] })
	var v core.Violations
	request := Request{Stores: make([]Submitted, len(stores))}
	for i, raw := range stores {
		request.Stores[i] = Submitted{Raw: raw, Object: Object{RefID: &named[i].RefID}}
		if failures[i] != nil {
			v.AddFailure(core.Object{Array: "stores", Index: i}, raw, failures[i])
		}
	}
	return request, v.Err()
}

// optionalTexts are the fields that some clients send as false for none.
var optionalTexts = []string{"contact_phone", "address"}

var platformDataTexts = []string{"url", "platform_store_id"} // likewise

// decodeLenient decodes a store that could not be decoded, if it has false instead of texts, with a warning about each.
// It returns the failure that remains. The checker drops translations whose name was false.
func (s *Submitted) decodeLenient(failure error) error {
	var members map[string]jsontext.Value
	if failure == nil || json.Unmarshal(s.Raw, &members) != nil {
		return failure
	}
	replaced := append(core.ReplaceFalseTexts(members, optionalTexts),
		core.ReplaceFalseTextsIn(members, "platform_data", platformDataTexts)...)
	unnamed := core.ReplaceFalseTextsIn(members, "translations", []string{"name"})
	object, err := json.Marshal(members, json.Deterministic(true))
	if len(replaced)+len(unnamed) == 0 || err != nil {
		return failure
	}
	if failure = core.DecodeObjects([]jsontext.Value{object}, func(int) any { return &s.Object })[0]; failure != nil {
		return failure
	}
	for _, field := range replaced {
		s.Warnings = append(s.Warnings, core.Warning{Path: field, Message: field + " " + core.FalseText})
	}
	for _, field := range unnamed {
		s.Warnings = append(s.Warnings,
			core.Warning{Path: field, Message: field + " is false, and the translation is ignored"})
	}
	return nil
}
