package web

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/order"
	"github.com/servery-hub/servery/core/store"
	"github.com/servery-hub/servery/web/body"
)

// allocated returns the bytes that do allocates. Growing slices make half of them garbage, so at most about half is in
// use at a time.
func allocated(do func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// smallBodyElements is the allowance for the elements of a request with few elements.
const smallBodyElements = 4 << 20

// sharedData returns a file of real data, or "" where there is none.
func sharedData(name string) string {
	text, _ := os.ReadFile(filepath.Join("..", "..", "shared", "data", name))
	return string(text)
}

// TestMemoryAllowsDocumentedBulkBodies checks the sizes that the guide to the configuration lists.
func TestMemoryAllowsDocumentedBulkBodies(t *testing.T) {
	for total, fits := range map[int64]struct{ texts, usual int64 }{ // in MiB
		64: {5, 2}, 512: {40, 16}, 800: {64, 25}, 2048: {64, 64},
	} {
		share := limit.NewMemory(total << 20).NewReservation(limit.Large)
		room := share.ClampDecoded(math.MaxInt64)
		require.GreaterOrEqual(t, room, stored.Byte*fits.texts<<20, "%d MiB", total)
		if fits.texts < 64 { // not the limit of SERVERY_MAX_BODY
			require.Less(t, room, stored.Byte*(fits.texts+1)<<20, "%d MiB", total)
		}
		for _, name := range []string{"menu-max.json", "stores-california.json"} {
			text := sharedData(name)
			require.GreaterOrEqual(t, room*int64(len(text)), stored.Of([]byte(text))*fits.usual<<20, name)
		}
	}
}

// TestDecodedBodiesStayWithinTheirEstimatedMemory measures the memory of decoded bodies, also of bodies that are
// designed to take much memory.
func TestDecodedBodiesStayWithinTheirEstimatedMemory(t *testing.T) {
	vocabulary, err := menu.NewVocabulary()
	require.NoError(t, err)
	menus := func(b []byte) { _, _ = menu.Decode(b, menu.Scope{}, menu.Rules{Country: "US", Vocabulary: vocabulary}) }
	stores := func(b []byte) { _, _ = store.Decode(b) }
	placed := func(b []byte) { _, _ = order.Decode(b) }
	const size = 256 << 10
	filled := func(before, text, after string) string {
		return before + strings.TrimSuffix(strings.Repeat(text, size/len(text)), ",") + after
	}
	named := func(before, value, after string) string {
		var b strings.Builder
		b.WriteString(before)
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, `"%x":%s,`, i, value)
		}
		return b.String() + `"":` + value + after
	}
	for name, c := range map[string]struct {
		body   string
		cost   body.Cost
		decode func([]byte)
	}{
		"largest menu":         {sharedData("menu-max.json"), stored, menus},
		"stores of California": {sharedData("stores-california.json"), stored, stores},
		"names":                {named(`{"items":[],`, "0", `}`), stored, menus},
		"names of an item":     {named(`{"items":[{"ref_id":"a",`, "0", `}]}`), stored, menus},
		"tags":                 {named(`{"items":[{"ref_id":"a","tags":{`, `[""]`, `}}]}`), stored, menus},
		"images":               {filled(`{"items":[{"ref_id":"a","images":[`, "{},", `]}]}`), stored, menus},
		"key-value groups":     {filled(`{"items":[{"ref_id":"a","key_value_groups":[`, "{},", `]}]}`), stored, menus},
		"references":           {filled(`{"items":[{"ref_id":"a","category_ref_ids":[`, `"",`, `]}]}`), stored, menus},
		"empty items":          {filled(`{"items":[`, `{},`, `]}`), stored, menus},
		"most empty categories": {`{"categories":[` + strings.TrimSuffix(strings.Repeat("{},", 20000), ",") + `]}`,
			stored, menus},
		"timings":       {filled(`{"stores":[{"ref_id":"a","timings":[`, "{},", `]}]}`), stored, stores},
		"dates":         {filled(`{"stores":[{"ref_id":"a","special_timings":[`, "{},", `]}]}`), stored, stores},
		"platform data": {filled(`{"stores":[{"ref_id":"a","platform_data":[`, "{},", `]}]}`), stored, stores},
		"charges":       {filled(`{"charges":[`, "{},", `]}`), parsed, placed},
		"payments":      {filled(`{"payment":[`, "{},", `]}`), parsed, placed},
		"choices":       {filled(`{"items":[{"options":[`, "{},", `]}]}`), parsed, placed},
	} {
		text := []byte(c.body)
		took, cost := allocated(func() { c.decode(text) }), c.cost.Of(text)
		t.Logf("%-22s %8d bytes, %6d KiB allocated, %6d KiB reserved", name, len(text), took>>10, cost>>10)
		require.LessOrEqual(t, took, 2*cost+smallBodyElements, name)
	}
}
