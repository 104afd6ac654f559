package pluginhost

import (
	"slices"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/servery-hub/servery/plugins/sdk"
)

// Bounds of a plugin's texts, in bytes.
const (
	maxText      = 2 << 10 // for people
	maxFaultText = 300
)

// humanFields are the fields of results that only people read.
var humanFields = []protoreflect.Name{"message", "rule", "skip", "ignored", "reason"}

// truncateTexts truncates the texts for people in a plugin's result.
func truncateTexts(result proto.Message) { truncateFields(result.ProtoReflect()) }

func truncateFields(m protoreflect.Message) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap():
		case field.IsList() && field.Message() != nil:
			for i := range value.List().Len() {
				truncateFields(value.List().Get(i).Message())
			}
		case field.Message() != nil:
			truncateFields(value.Message())
		case slices.Contains(humanFields, field.Name()) && len(value.String()) > maxText:
			m.Set(field, protoreflect.ValueOfString(sdk.Truncate(value.String(), maxText)))
		}
		return true
	})
}

// errorMessage returns the message of a gRPC error without its wrapping.
func errorMessage(err error) string {
	text := err.Error()
	if s, ok := status.FromError(err); ok && s.Message() != "" {
		text = s.Message()
	}
	return sdk.Truncate(text, maxText)
}
