package compress

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompressedBodiesDecompressUnchanged(t *testing.T) {
	p, err := New()
	require.NoError(t, err)
	for _, body := range []string{``, `{}`, strings.Repeat(`{"a":"ñ"}`, 200), strings.Repeat("x", s2MaxSize),
		strings.Repeat("x", s2MaxSize+1), strings.Repeat(`{"a":"ñ"}`, 100000)} {
		compressed := p.Compress([]byte(body))
		back, err := p.Decompress(compressed)
		require.NoError(t, err)
		require.Equal(t, body, string(back))
		require.LessOrEqual(t, len(compressed), max(len(body), minSize))
	}
	for _, broken := range [][]byte{append(bytes.Clone(zstdMagic), 1, 2, 3), s2Magic,
		append(bytes.Clone(s2Magic), 0xff, 0xff, 0xff, 0x0f), append(bytes.Clone(s2Magic), 5, 0)} {
		_, err = p.Decompress(broken)
		require.Error(t, err)
	}
}
