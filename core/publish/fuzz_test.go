package publish

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzParseCursor(f *testing.F) {
	f.Add(Cursor{"S-1", "web"}.String())
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		if c, ok := ParseCursor(text); ok {
			again, ok := ParseCursor(c.String())
			require.True(t, ok)
			require.Equal(t, c, again)
		}
	})
}
