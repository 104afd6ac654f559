package sdk

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// refusal is an error of the question, not of the plugin.
type refusal struct{ message string }

// Error is the message.
func (r refusal) Error() string { return r.message }

// Refusef is the error of a question that is wrong in itself: malformed JSON of
// an aggregator, a status that it does not know. The message names the place and
// can be acted on. The hub does not repeat the call.
func Refusef(format string, args ...any) error {
	return refusal{fmt.Sprintf(format, args...)}
}

// IsRefusal tells whether an error that came from a plugin means that the
// question was wrong in itself.
func IsRefusal(err error) bool {
	return errors.As(err, &refusal{}) || status.Code(err) == codes.InvalidArgument
}

// IsAbsent tells whether an error that came from a plugin means that it does not
// have the capability.
func IsAbsent(err error) bool { return status.Code(err) == codes.Unimplemented }

// statusError turns what a plugin returned into what gRPC carries. That a call was
// canceled or came too late is for its context alone to say, and that it was lost
// for the connection: of such a status of the plugin's own only the message is left.
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
