package pluginhost

import (
	"context"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"
)

// copyOutput writes a plugin's output to its log until the connection ends. Without a reader the plugin would block
// after 64 KiB of output. go-plugin's server streams it over its own service, whose messages are not exported. In
// these, field 1 is the channel and field 2 the data. A plugin without the service is not an error.
func copyOutput(conn grpc.ClientConnInterface, log io.Writer) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/plugin.GRPCStdio/StreamStdio",
		grpc.WaitForReady(true))
	if err != nil || stream.SendMsg(&emptypb.Empty{}) != nil || stream.CloseSend() != nil {
		return
	}
	channels := map[uint64]*lineWriter{}
	for {
		message := &emptypb.Empty{} // keeps unknown fields
		if stream.RecvMsg(message) != nil {
			return
		}
		channel, data := readOutput(message.ProtoReflect().GetUnknown())
		if channels[channel] == nil && len(channels) < 2 {
			channels[channel] = &lineWriter{out: log}
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
