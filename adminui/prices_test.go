package adminui_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
)

func TestPricesOnPagesHaveACurrency(t *testing.T) {
	base := serveConsole(t, fullHub())
	client := adminClient(t, base)
	revision := "b/7/history/" + revisionIDs[0].String() + "/"
	for path, prices := range map[string][]string{
		"b/7/items/":                        {">9.50 USD<"},
		"b/7/items/501/":                    {">9.50 USD<", ">10.25 USD<"},
		revision:                            {"price 10.25 USD → 102.50 USD", ">102.50 USD<"},
		"b/7/history/?entity=items&ref=dal": {"price 10.25 USD → 102.50 USD"},
		"b/7/history/item/?item=dal&store=S-17&platform=web": {"for 10.25 USD."},
		"b/7/orders/10412/": {">21.65 USD<"},
	} {
		_, page := getPage(t, client, base+shell.Root+path)
		for _, price := range prices {
			require.Contains(t, page, price, path)
		}
	}
}

func TestFinishedOrderShowsTheRiderInWords(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	_, page := getPage(t, client, base+shell.Root+"b/7/orders/")
	require.Contains(t, page, ">At the store<")
	require.NotContains(t, page, "AT-STORE")
	require.NotContains(t, page, ">DELIVERED<")
}
