package sdk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// refusal is the error for an invalid request. It is not a fault of the plugin.
type refusal struct{ message string }

// Error returns the message.
func (r refusal) Error() string { return r.message }

// Refusef returns the error for an invalid request, such as malformed JSON from an aggregator or an unknown status.
// The message must name the field and the remedy. The hub does not retry the call.
func Refusef(format string, args ...any) error {
	return refusal{fmt.Sprintf(format, args...)}
}

// refuseInvalid returns a refusal with the first error of an order, or nil for a valid one.
func refuseInvalid(o *NewOrder) error {
	err := CheckOrder(o)
	if err == nil {
		return nil
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return Refusef("order: %s", first)
}

// IsRefusal reports whether a plugin's error means that the request was invalid.
func IsRefusal(err error) bool {
	return errors.As(err, &refusal{}) || status.Code(err) == codes.InvalidArgument
}

// IsAbsent reports whether a plugin's error means that it does not have the capability.
func IsAbsent(err error) bool { return status.Code(err) == codes.Unimplemented }

// statusError converts the error of a plugin to a gRPC status. Only the context decides that a call was canceled or
// late, and only the connection that it was lost. A plugin's own status of that kind becomes Internal with the same
// message.
func statusError(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refusal{}):
		return status.Error(codes.InvalidArgument, err.Error())
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	}
	if s, ok := status.FromError(err); ok {
		switch s.Code() {
		case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded:
			return status.Error(codes.Internal, s.Message())
		}
		return err
	}
	return status.Error(codes.Internal, err.Error())
}
