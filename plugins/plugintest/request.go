package plugintest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// Request is a call of the protocol. The streams of menus are one message here: a whole menu, or all items.
type Request struct {
	Method  string // such as Riders.PlanStatus
	Message proto.Message
}

// hubTimeout returns the time limit of a hub for a call.
func hubTimeout(method string) time.Duration {
	switch method {
	case "Menu.Render", "Menu.PlanUnlist", "Menu.Serve":
		return 20 * time.Second
	case "Menu.CheckItems":
		return 8 * time.Second
	}
	return 4 * time.Second
}

// ParseRequest parses {"method": …, "request": {…}}. The request has the form of sdk.FromJSON.
func ParseRequest(text []byte) (Request, error) {
	var file struct {
		Method  string          `json:"method"`
		Request json.RawMessage `json:"request"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return Request{}, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Request{}, errors.New("text follows the object")
	}
	method, err := describeMethod(file.Method)
	if err != nil {
		return Request{}, err
	}
	message, err := newMessage(method.Input())
	if err != nil {
		return Request{}, err
	}
	if len(file.Request) == 0 {
		return Request{}, fmt.Errorf("request of %s: is required, and may be {}", file.Method)
	}
	if err := sdk.FromJSON(file.Request, message); err != nil {
		return Request{}, fmt.Errorf("request of %s: %w", file.Method, err)
	}
	return Request{file.Method, message}, nil
}

func describeMethod(name string) (protoreflect.MethodDescriptor, error) {
	service, method, _ := strings.Cut(name, ".")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("servery.plugin.v1." + service))
	if err == nil {
		if services, ok := found.(protoreflect.ServiceDescriptor); ok {
			if m := services.Methods().ByName(protoreflect.Name(method)); m != nil {
				return m, nil
			}
		}
	}
	return nil, fmt.Errorf("method %q is unknown, one is Riders.PlanStatus", name)
}

func newMessage(d protoreflect.MessageDescriptor) (proto.Message, error) {
	kind, err := protoregistry.GlobalTypes.FindMessageByName(d.FullName())
	if err != nil {
		return nil, err
	}
	return kind.New().Interface(), nil
}

// Send makes the call with the time limit of a hub. The result of Menu.CheckItems is a pb.FindingsChunk with all
// findings, and that of Menu.Render a pb.Decision.
func (q Request) Send(ctx context.Context, client *sdk.Client) (proto.Message, error) {
	within := hubTimeout(q.Method)
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	answer, err := q.send(bounded, client)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("no response in %v, the timeout of a hub: %w", within, err)
	}
	return answer, err
}

func (q Request) send(ctx context.Context, client *sdk.Client) (proto.Message, error) {
	switch message := q.Message.(type) {
	case *pb.ItemsChunk:
		findings, err := client.CheckMenu(ctx, message.GetCall(), message)
		return &pb.FindingsChunk{Findings: findings}, err
	case *pb.MenuChunk:
		return client.Render(ctx, message.GetCall(), message)
	}
	method, err := describeMethod(q.Method)
	if err != nil {
		return nil, err
	}
	answer, err := newMessage(method.Output())
	if err != nil {
		return nil, err
	}
	path := fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
	return answer, client.Conn().Invoke(ctx, path, q.Message, answer)
}

// ResultJSON makes the call and returns the result as JSON: {"answer": …}, or {"error": {"code", "message"}} for a
// gRPC error.
func (q Request) ResultJSON(ctx context.Context, client *sdk.Client) ([]byte, error) {
	message, err := q.Send(ctx, client)
	var out any
	if err != nil {
		state, isStatus := status.FromError(err)
		if !isStatus {
			return nil, err
		}
		out = map[string]any{"error": map[string]string{"code": state.Code().String(), "message": state.Message()}}
	} else {
		text, err := sdk.ToJSON(message)
		if err != nil {
			return nil, err
		}
		out = map[string]json.RawMessage{"answer": text}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(out)
	return text.Bytes(), err
}
