package devpg

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeServer responds to every startup packet with the same bytes.
func fakeServer(t *testing.T, reply string) string {
	t.Helper()
	socket := filepath.Join(dataDir(t), "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 512))
			_, _ = conn.Write([]byte(reply))
			_ = conn.Close()
		}
	}()
	return socket
}

func refusal(code string) string {
	body := "SFATAL\x00C" + code + "\x00Mno\x00\x00"
	return "E\x00\x00\x00" + string(rune(4+len(body))) + body
}

func TestProbeDistinguishesServerStates(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string]probeResult{
		refusal("57P03"):                    probeBusy,
		refusal("53300"):                    probeReady,
		"R\x00\x00\x00\x08\x00\x00\x00\x0a": probeReady,
		"":                                  probeSilent,
		"HTTP/1.1 400 Bad Request":          probeSilent,
	} {
		got, err := probe(t.Context(), fakeServer(t, reply))
		require.NoError(t, err)
		assert.Equal(t, want, got, "%q", reply)
	}
	got, err := probe(t.Context(), filepath.Join(dataDir(t), "none"))
	require.NoError(t, err)
	assert.Equal(t, probeAbsent, got)

	got, err = probe(t.Context(), fakeServer(t, refusal("28000")))
	assert.Equal(t, probeRefused, got)
	assert.ErrorContains(t, err, "28000")
}
