package core

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// DecodeJSON reads a request body into a struct. It refuses what is not JSON
// (RFC 8259), text after the value, a name given twice in one object, invalid
// UTF-8, a NUL character, more than 10,000 levels of nesting, and a value of the
// wrong type, each as an Invalid error that names the place. Unknown names are
// ignored, unless the options say otherwise; null leaves a field as it is.
func DecodeJSON(body []byte, into any, options ...json.Options) error {
	var v Violations
	if err := json.Unmarshal(body, into, options...); err != nil {
		path, code, rule := explain(err, body)
		switch {
		case code == "syntax" && path != "":
			rule = "at " + path + ": " + rule
			v.add(Violation{Path: path, Code: code, Message: rule})
			return v.Err()
		case code != "syntax" && path == "":
			rule = "the body " + rule
		}
		v.AddBody(path, code, rule)
		return v.Err()
	}
	if path, found := findNUL(body); found {
		v.AddBody(path, "nul", "must not contain the NUL character (\\u0000)")
	}
	return v.Err()
}

// DecodeObjects reads the objects of an array of a body that DecodeJSON has
// already accepted as JSON, on all processors where they are many. into tells
// where the object of an index goes. The failures stand at the objects' indices,
// for Violations.AddFailure.
func DecodeObjects(raws []jsontext.Value, into func(i int) any) []error {
	failures := make([]error, len(raws))
	parts := min(runtime.GOMAXPROCS(0), 1+len(raws)/256)
	decode := func(part int) {
		for i := part * len(raws) / parts; i < (part+1)*len(raws)/parts; i++ {
			failures[i] = decodeObject(raws[i], into(i))
		}
	}
	var running sync.WaitGroup
	for part := 1; part < parts; part++ {
		running.Go(func() { decode(part) })
	}
	decode(0)
	running.Wait()
	return failures
}

var errNoObject = &RuleError{"type", "must be an object"}

func decodeObject(raw jsontext.Value, into any) (err error) {
	defer func() { // on a goroutine of its own nobody else would catch it
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if raw.Kind() != '{' {
		return errNoObject
	}
	return json.Unmarshal(raw, into, wholeNumbers,
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // both checked already: once is enough
}

// AddFailure records why an object could not be read, under its ref_id where
// that can be.
func (v *Violations) AddFailure(at Object, raw jsontext.Value, failure error) {
	var members map[string]jsontext.Value
	var named string
	if json.Unmarshal(raw, &members) == nil && json.Unmarshal(members[at.named()], &named) == nil { // whatever else is wrong with it
		at.RefID = named
	}
	if failure == errNoObject {
		v.Add(at, "", errNoObject.Code, errNoObject.Rule)
		return
	}
	path, code, rule := explain(failure, raw)
	v.Add(at, path, code, rule)
}

// RuleError is what a type's own JSON reading returns for a value that breaks
// its rule; the text reads on from the field's name.
type RuleError struct{ Code, Rule string }

// Error is the rule.
func (e *RuleError) Error() string { return e.Rule }

// explain turns an error of the JSON library about a body into path, code and rule.
func explain(err error, body []byte) (path, code, rule string) {
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		path = fieldPath(syntactic.JSONPointer, body)
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return path, "duplicate", "is given twice in one object"
		}
		text := strings.TrimPrefix(syntactic.Err.Error(), "jsontext: ")
		return path, "syntax", fmt.Sprintf("the body is not valid JSON: %s (byte %d)", text, syntactic.ByteOffset)
	}
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return "", "syntax", "the body is not valid JSON"
	}
	path = fieldPath(semantic.JSONPointer, body)
	if errors.Is(semantic.Err, json.ErrUnknownName) {
		return path, "unknown", "is no field of this request"
	}
	var ruled *RuleError
	if errors.As(semantic.Err, &ruled) {
		return path, ruled.Code, ruled.Rule
	}
	return path, "type", "must be " + typeName(semantic.GoType)
}

// maxPath bounds the path of a field, in bytes.
const maxPath = 400

// fieldPath turns a JSON pointer (RFC 6901) into the body into the form stores[3].name.
func fieldPath(pointer jsontext.Pointer, body []byte) string {
	var b strings.Builder
	inArray := arrays(body)
	for token := range pointer.Tokens() {
		if b.Len() > maxPath {
			b.WriteString("…")
			break
		}
		if inArray(token) {
			b.WriteString("[" + token + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		if len(token) > 80 {
			token = token[:80] + "…"
		}
		b.WriteString(token)
	}
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}

// arrays follows the tokens of a JSON pointer into a body, one by one, and tells of
// each whether it is a place in an array, not the name of a member.
func arrays(body []byte) (isPlace func(token string) bool) {
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return func(token string) bool {
		switch start, err := d.ReadToken(); {
		case err != nil:
			return false
		case start.Kind() == '[':
			for place, _ := strconv.Atoi(token); place > 0 && err == nil; place-- {
				err = d.SkipValue()
			}
			return true
		}
		for {
			if name, err := d.ReadToken(); err != nil || name.Kind() != '"' || name.String() == token || d.SkipValue() != nil {
				return false
			}
		}
	}
}

func typeName(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return "of another type"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "an array"
	default:
		return "an object"
	}
}

// findNUL finds a string that holds the NUL character. It reads the body again
// only where the escape occurs at all: raw NUL bytes are no JSON.
func findNUL(body []byte) (string, bool) {
	if !bytes.Contains(body, []byte(`\u0000`)) {
		return "", false
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true)) // checked already
	for {
		token, err := d.ReadToken()
		if err != nil {
			return "", false
		}
		if token.Kind() == '"' && strings.ContainsRune(token.String(), 0) {
			return fieldPath(d.StackPointer(), body), true
		}
	}
}
