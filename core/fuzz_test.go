package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzDecodeJSON(f *testing.F) {
	for _, seed := range []string{`{"id":"17","amount":1.50,"more":[1]}`, `{"id":9223372036854775808,"amount":1e999}`,
		"{\"id\":\"\xff\"}", `{"id":null,"amount":null}`, `{"id":1,"id":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var sent struct {
			ID     PositiveInt `json:"id"`
			Amount Amount      `json:"amount"`
		}
		if err := DecodeJSON(body, &sent); err != nil {
			require.Equal(t, Invalid, CodeOf(err))
		}
	})
}

func FuzzParseAmount(f *testing.F) {
	for _, seed := range []string{"9.50", "-0", "1e14", "1e999999999", "0.000000000000000001", "NaN"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if a, err := ParseAmount(text); err == nil {
			again, err := ParseAmount(a.String())
			require.NoError(t, err)
			require.True(t, a.Equal(again.Decimal), "%s is %s", text, a)
		}
	})
}

func FuzzParseTrace(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Add("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more")
	f.Fuzz(func(t *testing.T, text string) {
		if trace := ParseTrace(text); trace != "" {
			require.Equal(t, trace, ParseTrace(string(trace)))
			require.Len(t, trace.ID(), 32)
		}
	})
}
