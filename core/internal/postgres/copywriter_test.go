package postgres

import (
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

func TestHeadersAreWrittenLikeOtherJSON(t *testing.T) {
	for _, headers := range []map[string]string{nil, {}, {"B": "<&>\u2028\x00\"\\", "A": "x\xff\n", "": "é"}} {
		want, err := json.Marshal(headers, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
		require.NoError(t, err)
		require.Equal(t, string(want), string(appendObject(nil, headers)))
	}
}
