package plugintest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(`{"method":"Riders.PlanStatus","request":{"call":{"platform":"aggregator-a"}}}`))
	f.Add([]byte(`{"method":"Riders.","request":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if q, err := ParseRequest(text); err == nil {
			require.NotNil(t, q.Message)
		}
	})
}
