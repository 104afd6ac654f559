package pluginhost

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/proto"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// Watcher lets a developer watch the calls of a plugin.
type Watcher interface {
	// Watch returns what receives the calls of an instance that starts, or nil if there is no receiver.
	Watch(id string) Watch
}

// Watch receives the calls and the log of a plugin. Its methods must not block.
type Watch interface {
	// Sent receives a message of a call to the plugin, or of the plugin's reply.
	Sent(call *WatchedCall, reply bool, message proto.Message)
	// Ended receives the end of a call.
	Ended(call *WatchedCall)
	// Logged receives a line of the log, without personal values.
	Logged(line string)
	// Faulted receives the text of a fault that the hub recorded, such as an invalid result of a call that ended well.
	Faulted(text string)
	// Close ends the watch, because the instance has ended.
	Close()
}

// WatchedCall is a call of a plugin.
type WatchedCall struct {
	Method string // such as Orders.Translate
	Began  time.Time
	Took   time.Duration
	Err    error // a gRPC error
	Detail any   // of the Watch

	hidden bool
}

const watchedService = "/servery.plugin.v1."

// unwatched are the calls of supervision.
var unwatched = map[string]bool{"Plugin.Describe": true, "Plugin.CheckHealth": true, "Plugin.Drain": true}

// watchHandler passes the calls of an instance to its Watch (stats.Handler).
type watchHandler struct{ watch Watch }

type watchedKey struct{}

// TagRPC adds the call to the context.
func (h watchHandler) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	path, ours := strings.CutPrefix(info.FullMethodName, watchedService)
	method := strings.ReplaceAll(path, "/", ".")
	if !ours || unwatched[method] {
		return ctx
	}
	return context.WithValue(ctx, watchedKey{}, &WatchedCall{Method: method})
}

// HandleRPC passes on the messages and the end of a call.
func (h watchHandler) HandleRPC(ctx context.Context, event stats.RPCStats) {
	call, ok := ctx.Value(watchedKey{}).(*WatchedCall)
	if !ok {
		return
	}
	switch event := event.(type) {
	case *stats.OutPayload:
		if configure, ok := event.Payload.(*pb.ConfigureRequest); ok && configure.GetCall().GetBusiness() == 0 {
			call.hidden = true // the host tests a start
		}
		if message, ok := event.Payload.(proto.Message); ok {
			h.watch.Sent(call, false, message)
		}
	case *stats.InPayload:
		if message, ok := event.Payload.(proto.Message); ok {
			h.watch.Sent(call, true, message)
		}
	case *stats.End:
		call.Began, call.Took, call.Err = event.BeginTime, event.EndTime.Sub(event.BeginTime), event.Error
		if !call.hidden {
			h.watch.Ended(call)
		}
	}
}

// TagConn does nothing.
func (watchHandler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn does nothing.
func (watchHandler) HandleConn(context.Context, stats.ConnStats) {}
