package pluginhost

import (
	"context"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"
)

// copyOutput writes what a plugin prints into its log, until the connection
// ends. go-plugin's server sends it over a service of its own, whose messages
// (channel = 1, data = 2) it does not export; unread, the plugin would stop at
// the first 64 KiB it prints. A plugin without the service is no fault.
func copyOutput(conn grpc.ClientConnInterface, log io.Writer) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/plugin.GRPCStdio/StreamStdio", grpc.WaitForReady(true))
	if err != nil || stream.SendMsg(&emptypb.Empty{}) != nil || stream.CloseSend() != nil {
		return
	}
	channels := map[uint64]*lines{}
	for {
		message := &emptypb.Empty{} // keeps the fields it does not know
		if stream.RecvMsg(message) != nil {
			return
		}
		channel, data := readOutput(message.ProtoReflect().GetUnknown())
		if channels[channel] == nil && len(channels) < 2 {
			channels[channel] = &lines{to: log}
		}
		if to := channels[channel]; to != nil {
			_, _ = to.Write(data)
		}
	}
}

func readOutput(fields []byte) (channel uint64, data []byte) {
	for len(fields) > 0 {
		number, kind, size := protowire.ConsumeTag(fields)
		if size < 0 {
			return channel, data
		}
		fields = fields[size:]
		switch {
		case number == 1 && kind == protowire.VarintType:
			channel, size = protowire.ConsumeVarint(fields)
		case number == 2 && kind == protowire.BytesType:
			data, size = protowire.ConsumeBytes(fields)
		default:
			size = protowire.ConsumeFieldValue(number, kind, fields)
		}
		if size < 0 {
			return channel, data
		}
		fields = fields[size:]
	}
	return channel, data
}
