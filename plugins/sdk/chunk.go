package sdk

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// ChunkSize is the maximum size of the entities in a chunk of a menu, or of a part of a rendered body, in bytes. Such a
// message usually fits a buffer of 32 kB that gRPC pools; the next larger buffers have 1 MB. Entities are not split: a
// larger one is a separate chunk.
const ChunkSize = 28 << 10

// sendFindings sends findings in chunks. It sends nothing if there are none.
func sendFindings(findings []*Finding, send func(*pb.FindingsChunk) error) error {
	if len(findings) == 0 {
		return nil
	}
	c := &chunker[pb.FindingsChunk]{size: ChunkSize, send: send, chunk: &pb.FindingsChunk{}}
	addToChunks(c, findings, func(m *pb.FindingsChunk) *[]*Finding { return &m.Findings })
	c.flush()
	return c.err
}

// sendCheck sends a check in chunks of at most size bytes: first the context, then the items. The first chunk has the
// call.
func sendCheck(call *Call, check *Check, size int, send func(*pb.ItemsChunk) error) error {
	c := &chunker[pb.ItemsChunk]{size: size, send: send, chunk: &pb.ItemsChunk{Call: call}}
	addToChunks(c, check.GetStores(), func(m *pb.ItemsChunk) *[]*pb.Store { return &m.Stores })
	addToChunks(c, check.GetCategories(), func(m *pb.ItemsChunk) *[]*pb.Category { return &m.Categories })
	addToChunks(c, check.GetOptionGroups(), func(m *pb.ItemsChunk) *[]*pb.OptionGroup { return &m.OptionGroups })
	addToChunks(c, check.GetOptions(), func(m *pb.ItemsChunk) *[]*pb.Option { return &m.Options })
	addToChunks(c, check.GetTaxes(), func(m *pb.ItemsChunk) *[]*pb.Tax { return &m.Taxes })
	addToChunks(c, check.GetCharges(), func(m *pb.ItemsChunk) *[]*pb.Charge { return &m.Charges })
	addToChunks(c, check.GetItems(), func(m *pb.ItemsChunk) *[]*pb.Item { return &m.Items })
	c.flush()
	return c.err
}

// sendMenu sends a menu in chunks of at most size bytes.
func sendMenu(call *Call, menu *Menu, size int, send func(*pb.MenuChunk) error) error {
	c := &chunker[pb.MenuChunk]{size: size, send: send, chunk: &pb.MenuChunk{Call: call, Store: menu.GetStore()}}
	addToChunks(c, menu.GetCategories(), func(m *pb.MenuChunk) *[]*pb.Category { return &m.Categories })
	addToChunks(c, menu.GetItems(), func(m *pb.MenuChunk) *[]*pb.Item { return &m.Items })
	addToChunks(c, menu.GetOptionGroups(), func(m *pb.MenuChunk) *[]*pb.OptionGroup { return &m.OptionGroups })
	addToChunks(c, menu.GetOptions(), func(m *pb.MenuChunk) *[]*pb.Option { return &m.Options })
	addToChunks(c, menu.GetTaxes(), func(m *pb.MenuChunk) *[]*pb.Tax { return &m.Taxes })
	addToChunks(c, menu.GetCharges(), func(m *pb.MenuChunk) *[]*pb.Charge { return &m.Charges })
	c.flush()
	return c.err
}

// chunker sends a list of entities in chunks.
type chunker[C any] struct {
	chunk     *C
	sum, size int
	send      func(*C) error
	err       error
}

func (c *chunker[C]) flush() {
	if c.err == nil {
		c.err = c.send(c.chunk)
	}
	c.chunk, c.sum = new(C), 0
}

func addToChunks[C any, T proto.Message](c *chunker[C], list []T, field func(*C) *[]T) {
	for _, element := range list {
		size := proto.Size(element)
		if c.sum > 0 && c.sum+size > c.size {
			c.flush()
		}
		target := field(c.chunk)
		*target = append(*target, element)
		c.sum += size
	}
}

// appendChunk adds the content of a chunk to a check or a menu. The elements of lists are shared.
func appendChunk(whole, chunk proto.Message) {
	to := whole.ProtoReflect()
	chunk.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if !field.IsList() {
			to.Set(field, value)
			return true
		}
		list := to.Mutable(field).List()
		for i := range value.List().Len() {
			list.Append(value.List().Get(i))
		}
		return true
	})
}

// sendRendered sends a decision, and the body of its plan in chunks.
func sendRendered(decision *Decision, send func(*pb.RenderedChunk) error) error {
	body := decision.GetPlan().GetBody()
	if decision.GetPlan() != nil {
		decision = proto.CloneOf(decision) // the plugin may reuse its decision
		decision.GetPlan().Body = nil
	}
	chunk := &pb.RenderedChunk{Decision: decision}
	for {
		size := min(len(body), ChunkSize)
		chunk.Body, body = body[:size], body[size:]
		if err := send(chunk); err != nil {
			return err
		}
		if len(body) == 0 {
			return nil
		}
		chunk = &pb.RenderedChunk{}
	}
}
