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

func TestJSONIsEscapedForCopy(t *testing.T) {
	for _, value := range []any{"", `\`, `a\\b"c`, "tab\tline\nreturn\rzero\x00", "é\xff", []string{`\n`, "x"},
		jsontext.Value("[ 1,\n\t\"\\\\\" ]"), map[string]any{`k\`: nil}} {
		var got, want CopyWriter
		got.JSON(false, value)
		encoded, err := json.Marshal(value, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
		require.NoError(t, err)
		want.Text(string(encoded))
		require.NoError(t, got.err)
		require.Equal(t, want.Buf.String(), got.Buf.String())
	}
}
