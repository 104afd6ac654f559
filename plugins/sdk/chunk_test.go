package sdk

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	pb "github.com/servery-hub/servery/plugins/proto"
)

func drawMenu(t *rapid.T) *Menu {
	menu := &Menu{Store: &pb.Store{RefId: "S"}}
	text := func(i int) string {
		return strings.Repeat("x", rapid.IntRange(0, 90).Draw(t, "length")) + fmt.Sprint(i)
	}
	for i := range rapid.IntRange(0, 20).Draw(t, "items") {
		menu.Items = append(menu.Items, &Item{RefId: text(i)})
	}
	for i := range rapid.IntRange(0, 20).Draw(t, "options") {
		menu.Options = append(menu.Options, &pb.Option{RefId: text(i)})
	}
	for i := range rapid.IntRange(0, 5).Draw(t, "taxes") {
		menu.Taxes = append(menu.Taxes, &pb.Tax{Code: text(i)})
	}
	return menu
}

func TestChunkedMenuReassemblesUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		menu, size := drawMenu(t), rapid.IntRange(1, 400).Draw(t, "size")
		call := &Call{Business: 7}
		whole := &Menu{}
		chunks := 0
		require.NoError(t, sendMenu(call, menu, size, func(chunk *pb.MenuChunk) error {
			require.Equal(t, chunks == 0, chunk.GetCall() != nil)
			require.Equal(t, chunks == 0, chunk.GetStore() != nil)
			entities := len(chunk.Items) + len(chunk.Options) + len(chunk.Taxes)
			bare := proto.CloneOf(chunk)
			bare.Call, bare.Store = nil, nil
			require.True(t, entities <= 1 ||
				proto.Size(bare) <= size+4*entities, "a chunk of %d bytes", proto.Size(bare))
			appendChunk(whole, chunk)
			chunks++
			return nil
		}))
		menu.Call = call
		require.True(t, proto.Equal(menu, whole))
	})
}

func TestChunkedBodyArrivesComplete(t *testing.T) {
	for _, size := range []int{0, 1, ChunkSize, ChunkSize + 1, 3 * ChunkSize} {
		body := []byte(strings.Repeat("b", size))
		decision, err := Send(&Plan{Method: "PUT", Body: body})
		require.NoError(t, err)
		var got []byte
		var first *Decision
		require.NoError(t, sendRendered(decision, func(chunk *pb.RenderedChunk) error {
			if first == nil {
				first = chunk.GetDecision()
				require.NotNil(t, first)
			}
			require.LessOrEqual(t, len(chunk.GetBody()), ChunkSize)
			got = append(got, chunk.GetBody()...)
			return nil
		}))
		require.Equal(t, "PUT", first.GetPlan().GetMethod())
		require.Equal(t, len(body), len(got))
		require.Len(t, decision.GetPlan().GetBody(), size, "the plugin's own decision stays as it was")
	}
}
