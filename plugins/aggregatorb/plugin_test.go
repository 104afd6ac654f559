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
		for _, kind := range []string{"order", cancellation} {
			translation, err := plugin{}.Translate(t.Context(), &sdk.Call{},
				&sdk.InboundRequest{Kind: kind, Body: body})
			if err != nil {
				require.True(t, sdk.IsRefusal(err), err)
				continue
			}
			order := translation.GetOrder()
			require.True(t, order != nil || translation.GetCancellation().GetPlatformOrderId() != "")
			require.NoError(t, sdk.CheckOrder(order))
		}
	})
}
