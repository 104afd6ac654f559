package limit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func FuzzParseRule(f *testing.F) {
	f.Add("20/1m")
	f.Add("off")
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := ParseRule(text); err == nil {
			require.True(t, r.Off() || r.Count > 0 && r.Per >= time.Second && r.Per <= 24*time.Hour && r.Block == r.Per)
		}
	})
}

func FuzzThrottleState(f *testing.F) {
	f.Add((&window{blockedUntil: 5, entries: []entry{{1, 2}, {3, 4}}}).encode())
	f.Fuzz(func(t *testing.T, stored []byte) {
		once := decode(stored)
		require.Equal(t, once, decode(once.encode()))
		BlockedUntil(stored)
	})
}
