package hostile

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHostileJSONHasItsSize(t *testing.T) {
	for _, body := range [][]byte{wideJSON(1 << 10), deepJSON(1 << 10)} {
		require.True(t, json.Valid(body), "%s", body)
		require.InDelta(t, 1<<10, len(body), 20)
	}
}
