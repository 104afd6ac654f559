package items

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/publish"
)

func TestPriceShowsItsRuleAndPublicationState(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	for name, row := range map[string]struct {
		master, values string
		publication    publish.Publication
		price, note    string
	}{
		"the store's": {`{}`, `{"price":9}`, publish.Publication{}, "9", "the store's price"},
		"the store's external one": {`{}`, `{"price":9,"external_price":10}`, publish.Publication{}, "10",
			"the store's external_price"},
		"the catalogue's": {`{"platform_pricing":[{"platform":"tasty","price":11}]}`,
			`{"price":9,"external_price":10}`, publish.Publication{}, "11", "the catalogue's price for this platform"},
		"the store's for it": {`{"platform_pricing":[{"platform":"tasty","price":11}]}`,
			`{"price":9,"platform_pricing":[{"platform":"tasty","price":12}]}`, publish.Publication{}, "12",
			"the store's price for this platform"},
		"a change is to come": {`{}`, `{"price":9}`, publish.Publication{DueAt: now}, "9",
			"the store's price, not yet on the platform"},
	} {
		m := matrix{}
		require.NoError(t, menu.DecodeStored(row.master, &m.master), name)
		cell, _ := m.values(console.ItemPlace{Menu: &row.publication, ItemStore: console.ItemStore{Sold: true,
			Values: []byte(row.values)}}, core.Platform{Name: "tasty", ServedBy: "aggregator-a"}, ui.OK)
		require.Equal(t, []string{row.price, row.note}, []string{cell.Text, cell.Note}, name)
	}
}

func TestCursorOfItemPlacesKeepsAnyName(t *testing.T) {
	for _, want := range []console.ItemPlaceCursor{{}, {StoreRef: "S-1", Platform: "web"},
		{StoreRef: "9-é", Platform: "a-b 7"}} {
		text := cursorText(console.ItemPlace{Platform: want.Platform,
			ItemStore: console.ItemStore{Store: console.GridStore{RefID: want.StoreRef}}})
		require.Equal(t, want, parseCursor(text), text)
	}
	for _, text := range []string{"", "x", "9-a", "-1-a"} {
		require.Zero(t, parseCursor(text), text)
	}
}
