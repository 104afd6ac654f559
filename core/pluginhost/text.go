package pluginhost

import (
	"slices"
	"strings"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Bounds of a plugin's texts, in bytes.
const (
	longestText  = 2 << 10 // for people
	longestFault = 300
)

// forPeople are the fields of answers that only people read.
var forPeople = []protoreflect.Name{"message", "rule", "skip", "ignored", "reason"}

// brief truncates the texts for people in a plugin's answer.
func brief(answer proto.Message) { cut(answer.ProtoReflect()) }

func cut(m protoreflect.Message) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap():
		case field.IsList() && field.Message() != nil:
			for i := range value.List().Len() {
				cut(value.List().Get(i).Message())
			}
		case field.Message() != nil:
			cut(value.Message())
		case slices.Contains(forPeople, field.Name()) && len(value.String()) > longestText:
			m.Set(field, protoreflect.ValueOfString(shorten(value.String(), longestText)))
		}
		return true
	})
}

func shorten(text string, most int) string {
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// plain returns the message of a gRPC error without its wrapping.
func plain(err error) string {
	text := err.Error()
	if s, ok := status.FromError(err); ok && s.Message() != "" {
		text = s.Message()
	}
	return shorten(text, longestText)
}
