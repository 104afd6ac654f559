package main

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/deploy/check/buildtest"
	"github.com/servery-hub/servery/plugins/plugintest"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestConformance(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "plugin")
	require.NoError(t, buildtest.Program(binary, "."))
	options := plugintest.Options{Golden: "testdata", Update: *update}
	for _, driver := range []plugintest.Driver{
		plugintest.InProcess(plugin{}), plugintest.Reattach(plugin{}), plugintest.Subprocess(binary, sdk.TransportMTLS),
	} {
		plugintest.Run(t, driver, options)
	}
}

// FuzzInbound checks that every inbound body is either translated or refused.
func FuzzInbound(f *testing.F) {
	cases, err := plugintest.Cases("testdata")
	require.NoError(f, err)
	for _, c := range cases {
		if request, ok := c.Request.Message.(*pb.TranslateRequest); ok {
			f.Add(request.GetRequest().GetBody())
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		translation, err := plugin{}.Translate(t.Context(), &sdk.Call{}, &sdk.InboundRequest{Body: body})
		if err != nil {
			require.True(t, sdk.IsRefusal(err), err)
			return
		}
		order := translation.GetOrder()
		require.True(t, order != nil || translation.GetCancellation().GetPlatformOrderId() != "" ||
			translation.GetIgnored() != "")
		require.NoError(t, sdk.CheckOrder(order))
	})
}

// The currency decides the digits of amounts. Settings with other digits are rejected. Without a currency the
// settings decide.
func TestSettingsDoNotContradictTheCurrency(t *testing.T) {
	for _, c := range []struct{ settings, currency, wrong string }{
		{`{}`, "JPY", ""}, {`{"minor_digits":0}`, "JPY", ""}, {`{"minor_digits":3}`, "KWD", ""},
		{`{"minor_digits":0}`, "", ""},
		{`{"minor_digits":2}`, "JPY", "is 2, and JPY has 0 digits after the point"},
		{`{"minor_digits":0}`, "INR", "is 0, and INR has 2 digits after the point"},
	} {
		problems, err := plugin{}.Configure(t.Context(), &sdk.Call{Settings: []byte(c.settings), Currency: c.currency})
		require.NoError(t, err)
		if c.wrong == "" {
			require.Empty(t, problems, c)
			continue
		}
		require.Len(t, problems, 1, c)
		require.Equal(t, []string{"minor_digits", c.wrong}, []string{problems[0].GetPath(), problems[0].GetMessage()})
	}
}
