package storetest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestStoresAddTheirItemsToATax(t *testing.T) {
	k := newMenuHarness(t, hubtest.Database(t, nil), "US")
	k.store("s1")
	k.store("s2")
	const tax = `"taxes":[{"code":"ST_P","title":"Sales Tax","structure":{"value":8},"item_ref_ids":["%"]}],` +
		`"charges":[{"code":"PC_F","title":"Packaging Charge",` +
		`"structure":{"value":1,"applicable_on":"item.quantity"},"item_ref_ids":["%"]}]}`
	k.send("s1", `{"items":[{"ref_id":"tea","title":"Tea","price":1}],`+strings.ReplaceAll(tax, "%", "tea"))
	callback := k.send("s2", `{"items":[{"ref_id":"pie","title":"Pie","price":2}],`+strings.ReplaceAll(tax, "%", "pie"))
	require.Len(t, callback["warnings"], 2)
	for _, kind := range []string{"taxes", "charges"} {
		require.Equal(t, []any{"tea", "pie"}, itemsOf(k, kind))
	}

	k.send("-1", `{"taxes":[{"code":"ST_P","structure":{"value":8},"clear_items":true,"item_ref_ids":["pie"]}]}`)
	require.Equal(t, []any{"pie"}, itemsOf(k, "taxes"))
	require.Equal(t, []any{"tea", "pie"}, itemsOf(k, "charges"))

	const flush = `{"flush_taxes":true,"taxes":[]}`
	lost := k.send("-1", flush)["warnings"].([]any)[0].(map[string]any)
	require.Equal(t, "ST_P 8 no longer applies to 1 item outside this request", lost["message"])
}

func itemsOf(k *menuHarness, kind string) []any {
	return k.read("-1")[kind].([]any)[0].(map[string]any)["item_ref_ids"].([]any)
}
