package sdk

import (
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxObjects bounds the messages, texts and map entries within a response. An empty one takes 2 bytes, and a hundred
// times as much once it is decoded.
const maxObjects = 200_000

// boundedCodec is gRPC's codec. It does not decode a response with more than maxObjects.
type boundedCodec struct{ encoding.CodecV2 }

func newBoundedCodec() boundedCodec { return boundedCodec{encoding.GetCodecV2(protocodec.Name)} }

// Unmarshal decodes a response.
func (c boundedCodec) Unmarshal(data mem.BufferSlice, v any) error {
	message, ok := v.(proto.Message)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	left := maxObjects
	if err := countObjects(buffer.ReadOnlyData(), message.ProtoReflect().Descriptor(), &left); err != nil {
		return err
	}
	return proto.Unmarshal(buffer.ReadOnlyData(), message)
}

// countObjects returns an error if an encoded message has more objects than left, or cannot be decoded.
func countObjects(encoded []byte, about protoreflect.MessageDescriptor, left *int) error {
	for len(encoded) > 0 {
		number, kind, n := protowire.ConsumeTag(encoded)
		if n < 0 {
			return protowire.ParseError(n)
		}
		encoded = encoded[n:]
		if n = protowire.ConsumeFieldValue(number, kind, encoded); n < 0 {
			return protowire.ParseError(n)
		}
		value := encoded[:n]
		encoded = encoded[n:]
		field := about.Fields().ByNumber(number)
		if kind != protowire.BytesType || field == nil || field.Message() == nil && !field.IsList() {
			continue
		}
		if *left--; *left < 0 {
			return fmt.Errorf("it has more than %d objects", maxObjects)
		}
		if field.Message() != nil {
			inner, _ := protowire.ConsumeBytes(value)
			if err := countObjects(inner, field.Message(), left); err != nil {
				return err
			}
		}
	}
	return nil
}

// undecodable begins gRPC's message about a response that it could not decode.
const undecodable = "grpc: failed to unmarshal the received message: "

// asFault returns a Fault for a response that could not be decoded, and otherwise the error of the call.
func asFault(err error) error {
	if s := status.Convert(err); s.Code() == codes.Internal && strings.HasPrefix(s.Message(), undecodable) {
		return &Fault{"the plugin's response: " + strings.TrimPrefix(s.Message(), undecodable)}
	}
	return err
}
