package sdk

import (
	"google.golang.org/protobuf/proto"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// ChunkSize is the maximum size of a chunk of a menu, in bytes. Entities are not split: a larger one is a separate
// chunk.
const ChunkSize = 128 << 10

// sendChunks sends a list in parts of at most size bytes. It sends nothing for an empty list.
func sendChunks[T proto.Message](list []T, size int, send func([]T) error) error {
	start, sum := 0, 0
	for i, element := range list {
		grown := sum + proto.Size(element)
		if i > start && grown > size {
			if err := send(list[start:i]); err != nil {
				return err
			}
			start, grown = i, grown-sum
		}
		sum = grown
	}
	if start == len(list) {
		return nil
	}
	return send(list[start:])
}

// sendItems sends a call and its items in chunks of at most size bytes. The first chunk has the call.
func sendItems(call *Call, items []*Item, size int, send func(*pb.ItemsChunk) error) error {
	first := true
	err := sendChunks(items, size, func(part []*Item) error {
		chunk := &pb.ItemsChunk{Items: part}
		if first {
			chunk.Call, first = call, false
		}
		return send(chunk)
	})
	if err == nil && first {
		err = send(&pb.ItemsChunk{Call: call})
	}
	return err
}

// sendMenu sends a menu in chunks of at most size bytes.
func sendMenu(call *Call, menu *Menu, size int, send func(*pb.MenuChunk) error) error {
	c := &menuChunker{size: size, send: send, chunk: &pb.MenuChunk{Call: call, Store: menu.GetStore()}}
	addToChunks(c, menu.GetCategories(), func(m *pb.MenuChunk) *[]*pb.Category { return &m.Categories })
	addToChunks(c, menu.GetItems(), func(m *pb.MenuChunk) *[]*pb.Item { return &m.Items })
	addToChunks(c, menu.GetOptionGroups(), func(m *pb.MenuChunk) *[]*pb.OptionGroup { return &m.OptionGroups })
	addToChunks(c, menu.GetOptions(), func(m *pb.MenuChunk) *[]*pb.Option { return &m.Options })
	addToChunks(c, menu.GetTaxes(), func(m *pb.MenuChunk) *[]*pb.Tax { return &m.Taxes })
	addToChunks(c, menu.GetCharges(), func(m *pb.MenuChunk) *[]*pb.Charge { return &m.Charges })
	c.flush()
	return c.err
}

type menuChunker struct {
	chunk     *pb.MenuChunk
	sum, size int
	send      func(*pb.MenuChunk) error
	err       error
}

func (c *menuChunker) flush() {
	if c.err == nil {
		c.err = c.send(c.chunk)
	}
	c.chunk, c.sum = &pb.MenuChunk{}, 0
}

func addToChunks[T proto.Message](c *menuChunker, list []T, field func(*pb.MenuChunk) *[]T) {
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

// appendChunk adds the content of a chunk to a menu.
func appendChunk(menu *Menu, chunk *pb.MenuChunk) {
	if chunk.GetCall() != nil {
		menu.Call = chunk.GetCall()
	}
	if chunk.GetStore() != nil {
		menu.Store = chunk.GetStore()
	}
	menu.Categories = append(menu.Categories, chunk.GetCategories()...)
	menu.Items = append(menu.Items, chunk.GetItems()...)
	menu.OptionGroups = append(menu.OptionGroups, chunk.GetOptionGroups()...)
	menu.Options = append(menu.Options, chunk.GetOptions()...)
	menu.Taxes = append(menu.Taxes, chunk.GetTaxes()...)
	menu.Charges = append(menu.Charges, chunk.GetCharges()...)
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
