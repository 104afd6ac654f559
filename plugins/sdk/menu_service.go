package sdk

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// MaxMenu is the maximum size of a menu, and of its rendering, in bytes.
const MaxMenu = 64 << 20

type menuService struct {
	pb.UnimplementedMenuServer
	s *Server
}

// CheckItems receives all items with their context, calls the plugin and sends its findings.
func (m menuService) CheckItems(stream grpc.BidiStreamingServer[pb.ItemsChunk, pb.FindingsChunk]) error {
	withContext, seesContext := m.s.plugin.(MenuContextChecker)
	checker, ok := m.s.plugin.(MenuChecker)
	if !ok && !seesContext {
		return m.s.unimplemented(CapabilityMenuCheck)
	}
	check := &Check{}
	if err := receiveChunks(stream, func(chunk *pb.ItemsChunk) { appendChunk(check, chunk) }); err != nil {
		return err
	}
	var findings []*Finding
	var err error
	if seesContext {
		findings, err = withContext.CheckMenu(stream.Context(), check)
	} else {
		findings, err = checker.CheckItems(stream.Context(), check.GetCall(), check.GetItems())
	}
	if err != nil {
		return err
	}
	return sendFindings(findings, stream.Send)
}

// Render receives the whole menu, calls the plugin and sends the result.
func (m menuService) Render(stream grpc.BidiStreamingServer[pb.MenuChunk, pb.RenderedChunk]) error {
	renderer, ok := m.s.plugin.(MenuRenderer)
	if !ok {
		return m.s.unimplemented(CapabilityMenuRender)
	}
	menu := &Menu{}
	if err := receiveChunks(stream, func(chunk *pb.MenuChunk) { appendChunk(menu, chunk) }); err != nil {
		return err
	}
	decision, err := renderer.Render(stream.Context(), menu.GetCall(), menu)
	if err != nil {
		return err
	}
	return sendRendered(decision, stream.Send)
}

// InterpretPublish interprets the aggregator's response to a menu.
func (m menuService) InterpretPublish(ctx context.Context, req *pb.InterpretRequest) (*pb.PublishOutcome, error) {
	return withCapability(m.s, CapabilityMenuResult, func(p PublishInterpreter) (*pb.PublishOutcome, error) {
		return p.InterpretPublish(ctx, req.GetCall(), req.GetResponse())
	})
}

// PlanUnlist plans the removal of a store from the aggregator.
func (m menuService) PlanUnlist(ctx context.Context, req *pb.UnlistRequest) (*pb.Decision, error) {
	return withCapability(m.s, CapabilityMenuUnlist,
		func(p Unlister) (*pb.Decision, error) { return p.PlanUnlist(ctx, req) })
}

// Serve responds to a request that fetches the menu of a store.
func (m menuService) Serve(ctx context.Context, req *pb.ServeRequest) (*pb.InboundReply, error) {
	return withCapability(m.s, CapabilityMenuServe,
		func(p MenuServer) (*pb.InboundReply, error) { return p.ServeMenu(ctx, req) })
}

// receiveChunks reads every chunk of a stream, up to MaxMenu bytes.
func receiveChunks[C any, A any, P interface {
	*C
	proto.Message
}](stream grpc.BidiStreamingServer[C, A], take func(P)) error {
	size := 0
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if size += proto.Size(P(chunk)); size > MaxMenu {
			return status.Errorf(codes.ResourceExhausted, "the menu has more than %d bytes", MaxMenu)
		}
		take(P(chunk))
	}
}
