package sdk

import (
	"context"
	"strings"

	"google.golang.org/grpc"
)

func traceUnary(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption) error {
	return invoke(outgoing(ctx), method, req, reply, conn, opts...)
}

func traceStream(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer,
	opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return open(outgoing(ctx), desc, conn, method, opts...)
}

// limitResult bounds the result of a unary call that is not about a menu or its availability. A result of MaxMessage
// bytes can take many times its size once it is decoded. One that cannot be decoded is a Fault.
func limitResult(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
	options ...grpc.CallOption) error {
	if !strings.HasPrefix(method, servicePrefix+"Menu/") && !strings.HasPrefix(method, servicePrefix+"Availability/") {
		options = append(options, grpc.MaxCallRecvMsgSize(MaxResult))
	}
	return asFault(invoke(ctx, method, req, reply, conn, options...))
}
