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
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// DecodeJSON decodes a request body into a struct. It rejects the following, each as an Invalid error with the path of
// the value:
//
// - a body that is not JSON (RFC 8259), or text after the value
// - a duplicate name in an object
// - invalid UTF-8, or a NUL character
// - more than 10,000 levels of nesting
// - a value of the wrong type
//
// It ignores unknown names unless the options say otherwise. A null leaves a field unchanged.
func DecodeJSON(body []byte, into any, options ...json.Options) error {
	var v Violations
	if err := json.Unmarshal(body, into, options...); err != nil {
		path, code, rule := describeDecodeError(err, body)
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

// DecodeObjects decodes the objects of an array of a body that DecodeJSON has already accepted. It uses all processors
// if there are many objects. The function into returns the destination for an index. The errors are indexed like the
// objects, for Violations.AddFailure.
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

var errNotObject = &RuleError{"type", "must be an object"}

func decodeObject(raw jsontext.Value, into any) (err error) {
	defer func() { // a panic in a separate goroutine would end the process
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if raw.Kind() != '{' {
		return errNotObject
	}
	return json.Unmarshal(raw, into, integerUnmarshalers,
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // DecodeJSON has checked both
}

// FalseText is the warning about a field that ReplaceFalseTexts replaced. It continues the field's name.
const FalseText = "is false, and is read as empty"

// ReplaceFalseTexts replaces false by an empty text in those of the fields that some clients send as false for none.
// It returns the replaced fields.
func ReplaceFalseTexts(members map[string]jsontext.Value, fields []string) (replaced []string) {
	for _, field := range fields {
		if members[field].Kind() == 'f' {
			members[field] = jsontext.Value(`""`)
			replaced = append(replaced, field)
		}
	}
	return replaced
}

// ReplaceFalseTextsIn does so in the objects of a list. It returns the paths of the replaced fields.
func ReplaceFalseTextsIn(members map[string]jsontext.Value, list string, fields []string) (replaced []string) {
	var objects []map[string]jsontext.Value
	if members[list].Kind() != '[' || json.Unmarshal(members[list], &objects) != nil {
		return nil
	}
	for i, object := range objects {
		for _, field := range ReplaceFalseTexts(object, fields) {
			replaced = append(replaced, fmt.Sprintf("%s[%d].%s", list, i, field))
		}
	}
	if encoded, err := json.Marshal(objects, json.Deterministic(true)); err == nil {
		members[list] = encoded
	}
	return replaced
}

// AddFailure records why an object could not be decoded, with its ref_id if that can be read.
func (v *Violations) AddFailure(at Object, raw jsontext.Value, failure error) {
	var members map[string]jsontext.Value
	var named string
	// ignores its other errors
	if json.Unmarshal(raw, &members) == nil && json.Unmarshal(members[at.refIDField()], &named) == nil {
		at.RefID = named
	}
	if failure == errNotObject {
		v.Add(at, "", errNotObject.Code, errNotObject.Rule+", not "+describeValue(raw))
		return
	}
	path, code, rule := describeDecodeError(failure, raw)
	v.Add(at, path, code, rule)
}

// RuleError is the error of a type's own JSON decoding for a value that breaks its rule. The rule continues the field's
// name.
type RuleError struct{ Code, Rule string }

// Error returns the rule.
func (e *RuleError) Error() string { return e.Rule }

// describeDecodeError turns an error of the JSON library about a body into a path, code and rule.
func describeDecodeError(err error, body []byte) (path, code, rule string) {
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
		return path, "unknown", "is an unknown field"
	}
	ruled := &RuleError{"type", "must be " + typeName(semantic.GoType)}
	if errors.As(semantic.Err, &ruled) && ruled.Code != "type" {
		return path, ruled.Code, ruled.Rule
	}
	value, err := valueAt(semantic.JSONPointer, body)
	if err != nil { // the body ends within the value
		return describeDecodeError(err, body)
	}
	return path, ruled.Code, ruled.Rule + ", not " + describeValue(value)
}

// maxShown bounds the part of a sent value that a message shows, in characters.
const maxShown = 40

// describeValue describes a value for a message: the text of a number or string, or the type of others.
func describeValue(value jsontext.Value) string {
	switch value.Kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		text, _ := jsontext.AppendUnquote(nil, value)
		return Quote(string(text))
	default:
		return fmt.Sprintf("%.*s", maxShown, value)
	}
}

// Quote quotes the beginning of a sent text for a message.
func Quote(text string) string {
	if utf8.RuneCountInString(text) > maxShown {
		text = string([]rune(text)[:maxShown]) + "…"
	}
	return strconv.Quote(text)
}

// OneOf returns the rule for a sent value that is not allowed. An empty value was not sent.
func OneOf[S ~string](allowed []S, sent S) string {
	rule := "must be one of: " + Join(allowed)
	if sent == "" {
		return rule
	}
	return rule + " (not " + Quote(string(sent)) + ")"
}

// Join joins names with commas, for a message.
func Join[S ~string](names []S) string {
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(name))
	}
	return b.String()
}

// maxPath bounds the path of a field, in bytes.
const maxPath = 400

// fieldPath turns a JSON pointer (RFC 6901) into the body into the form stores[3].name.
func fieldPath(pointer jsontext.Pointer, body []byte) string {
	var b strings.Builder
	inArray := pointerWalker(jsonDecoder(body))
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

// valueAt returns the value that a JSON pointer leads to, or the error of one that is not valid JSON.
func valueAt(pointer jsontext.Pointer, body []byte) (jsontext.Value, error) {
	d := jsonDecoder(body)
	step := pointerWalker(d)
	for token := range pointer.Tokens() {
		step(token)
	}
	return d.ReadValue()
}

func jsonDecoder(body []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true))
}

// pointerWalker returns a function that moves a decoder along the tokens of a JSON pointer. For each token it reports
// whether the token is an index into an array rather than the name of a member.
func pointerWalker(d *jsontext.Decoder) (isIndex func(token string) bool) {
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
			if name, err := d.ReadToken(); err != nil || name.Kind() != '"' || name.String() == token ||
				d.SkipValue() != nil {
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

// findNUL returns the path of a string that contains the NUL character. It parses the body again only if the escape
// occurs in it, because raw NUL bytes are not valid JSON.
func findNUL(body []byte) (string, bool) {
	if !bytes.Contains(body, []byte(`\u0000`)) {
		return "", false
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true)) // already checked
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
