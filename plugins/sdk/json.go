package sdk

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// ToJSON returns readable JSON of a message, in a deterministic encoding. Names are those of the .proto files. Bytes
// with a JSON object or array are embedded as JSON, and other bytes are text, or {"base64": …} if they are not UTF-8.
func ToJSON(m proto.Message) ([]byte, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	value, err := decodeJSON(text)
	if err != nil {
		return nil, err
	}
	readable, err := walk(value, m.ProtoReflect().Descriptor(), showBytes)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(readable)
	return bytes.TrimRight(out.Bytes(), "\n"), err
}

// FromJSON decodes the output of ToJSON. Unknown fields are an error.
func FromJSON(text []byte, m proto.Message) error {
	value, err := decodeJSON(text)
	if err != nil {
		return err
	}
	packed, err := walk(value, m.ProtoReflect().Descriptor(), readBytes)
	if err != nil {
		return err
	}
	if text, err = json.Marshal(packed); err != nil {
		return err
	}
	return protojson.Unmarshal(text, m)
}

// decodeJSON decodes JSON without losing digits of numbers.
func decodeJSON(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return value, nil
}

// walk converts every bytes field of a message in decoded JSON, and int64 strings to numbers.
func walk(value any, d protoreflect.MessageDescriptor, bytesField func(any) (any, error)) (any, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return value, nil
	}
	for name, held := range object {
		field := d.Fields().ByName(protoreflect.Name(name))
		if field == nil || field.IsMap() {
			continue
		}
		list, isList := held.([]any)
		if !isList || !field.IsList() {
			changed, err := walkField(held, field, bytesField)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			object[name] = changed
			continue
		}
		for i := range list {
			changed, err := walkField(list[i], field, bytesField)
			if err != nil {
				return nil, fmt.Errorf("%s[%d]: %w", name, i, err)
			}
			list[i] = changed
		}
	}
	return object, nil
}

func walkField(held any, field protoreflect.FieldDescriptor, bytesField func(any) (any, error)) (any, error) {
	switch field.Kind() {
	case protoreflect.BytesKind:
		return bytesField(held)
	case protoreflect.MessageKind:
		return walk(held, field.Message(), bytesField)
	case protoreflect.Int64Kind:
		if text, ok := held.(string); ok {
			return json.Number(text), nil
		}
	}
	return held, nil
}

// showBytes converts protojson's base64 to readable JSON.
func showBytes(held any) (any, error) {
	text, _ := held.(string)
	raw, err := base64.StdEncoding.DecodeString(text)
	switch {
	case err != nil:
		return nil, err
	case len(raw) > 0 && (raw[0] == '{' || raw[0] == '[') && json.Valid(raw):
		return json.RawMessage(raw), nil
	case utf8.Valid(raw):
		return string(raw), nil
	}
	return map[string]any{"base64": text}, nil
}

// readBytes reverses showBytes.
func readBytes(held any) (any, error) {
	switch held := held.(type) {
	case nil:
		return nil, nil
	case string:
		return base64.StdEncoding.EncodeToString([]byte(held)), nil
	case map[string]any:
		if text, only := held["base64"].(string); only && len(held) == 1 {
			return text, nil
		}
	}
	return base64.StdEncoding.EncodeToString(JSON(held)), nil
}
