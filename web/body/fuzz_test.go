package body_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/limit"
	"github.com/servery-hub/servery/web/body"
)

// FuzzRead compares decompression with the standard library.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"stores":[]}`), "")
	f.Add([]byte(gzipped(`{"stores":[]}`)), "gzip")
	f.Add([]byte(gzipped(string(make([]byte, 70<<10)))), "GZIP")
	f.Add([]byte(gzipped("a")+gzipped("b")), "gzip")
	f.Add([]byte(gzipped("a")[:12]), "gzip")
	f.Add([]byte(gzipped(gzipped("a"))), "gzip, gzip")
	f.Fuzz(func(t *testing.T, sent []byte, coding string) {
		const most = 64 << 10
		var c fasthttp.RequestCtx
		c.Request.Header.SetMethod("POST")
		c.Request.Header.Set("Content-Encoding", coding)
		c.Request.SetBodyStream(bytes.NewReader(sent), -1)
		memory := limit.NewMemory(64 << 20)
		share := memory.NewReservation(limit.Small)
		read, err := body.Read(t.Context(), &c,
			body.Limit{Bytes: most, Class: limit.Small, Cost: body.Cost{Byte: 2, Value: 16}}, &share)
		share.Release()
		require.LessOrEqual(t, len(read), most)
		switch string(bytes.ToLower(c.Request.Header.Peek("Content-Encoding"))) {
		case "", "identity":
			require.Equal(t, len(sent) > most, err != nil)
		case "gzip":
			if err != nil {
				break
			}
			unpacked, err := gzip.NewReader(bytes.NewReader(sent))
			require.NoError(t, err)
			decompressed, err := io.ReadAll(unpacked)
			require.NoError(t, err)
			require.True(t, bytes.Equal(decompressed, read))
		default:
			require.Equal(t, core.UnsupportedMedia, core.CodeOf(err))
		}
		all := memory.NewReservation(limit.Small)
		require.NoError(t, all.GrowBytes(t.Context(), all.ClampBytes(1<<40)), "nothing is held any more")
	})
}

func FuzzForm(f *testing.F) {
	for _, seed := range []string{"", "email=a%40b.c&password=x+y", "a&a&a", "=&=", "%zz", "a=%00", "a;b=c",
		"id=1&id=2"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		fields, err := body.ParseForm(sent)
		if err != nil {
			require.Equal(t, core.Invalid, core.CodeOf(err))
			return
		}
		reparsed, err := body.ParseForm([]byte(fields.Encode()))
		require.NoError(t, err)
		require.Equal(t, fields, reparsed)
	})
}
