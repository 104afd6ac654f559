// Package compress compresses the bodies of requests and events before they are stored.
package compress

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// minSize is the size in bytes of the smallest compressed body. Above about 2 kB PostgreSQL would
// itself compress the row, more slowly, and move it out of line.
const minSize = 1500

// maxSize bounds the decompressed size of a body.
const maxSize = 1 << 30

// No JSON text begins with these bytes.
var (
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd} // RFC 8878, section 3.1.1
	s2Magic   = []byte{0xff, 's', '2', 0}
)

// s2MaxSize is the size in bytes of the largest body that S2 compresses instead of Zstandard. Most
// orders and statuses are smaller. S2 takes a fifth of the time for a third more bytes.
const s2MaxSize = 8 << 10

var errTooLong = errors.New("it exceeds the size limit")

// Compressor compresses large bodies. This saves network traffic, WAL and disk. It is safe for
// concurrent use.
type Compressor struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

// New returns a Compressor.
func New() (*Compressor, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2),
		zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxSize))
	if err != nil {
		return nil, err
	}
	return &Compressor{encoder, decoder}, nil
}

// Compress returns the compressed form of a body, or a short body as it is.
func (c *Compressor) Compress(body []byte) []byte {
	if len(body) < minSize {
		return body
	}
	if len(body) <= s2MaxSize {
		compressed := append(make([]byte, 0, len(s2Magic)+s2.MaxEncodedLen(len(body))), s2Magic...)
		return compressed[:len(s2Magic)+len(s2.Encode(compressed[len(s2Magic):cap(compressed)], body))]
	}
	return c.encoder.EncodeAll(body, nil)
}

// Decompress returns the body of a stored form. It fails if the stored form is damaged or the body exceeds 1 GiB.
func (c *Compressor) Decompress(stored []byte) ([]byte, error) {
	if short, found := bytes.CutPrefix(stored, s2Magic); found {
		if n, err := s2.DecodedLen(short); err != nil || n > s2MaxSize {
			return nil, fmt.Errorf("decompressing a stored body: %w", cmp.Or(err, errTooLong))
		}
		body, err := s2.Decode(nil, short)
		if err != nil {
			return nil, fmt.Errorf("decompressing a stored body: %w", err)
		}
		return body, nil
	}
	if !bytes.HasPrefix(stored, zstdMagic) {
		return stored, nil
	}
	body, err := c.decoder.DecodeAll(stored, nil)
	if err != nil {
		return nil, fmt.Errorf("decompressing a stored body: %w", err)
	}
	return body, nil
}

// HeadSize is the number of leading bytes of a stored body that Size needs.
const HeadSize = zstd.HeaderMaxSize

// Size returns the decompressed size of a stored body, from its first bytes and
// its stored size. It returns the stored size if the body does not state its own.
func Size(head []byte, stored int) int {
	var header zstd.Header
	if bytes.HasPrefix(head, zstdMagic) && header.Decode(head) == nil {
		return int(min(header.FrameContentSize, maxSize))
	}
	return stored
}
