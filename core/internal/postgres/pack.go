package postgres

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// packFrom is the size from which a body is worth packing, in bytes: below that at
// which PostgreSQL would compress it itself, more slowly, and move it out of its row.
const packFrom = 1500

// maxBody bounds what a packed body may unfold to.
const maxBody = 1 << 30

// No JSON begins so.
var (
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd} // RFC 8878, section 3.1.1
	s2Mark    = []byte{0xff, 's', '2', 0}
)

// packedQuickly is the size up to which a body is packed by S2 instead of Zstandard: an
// order or a status. It takes a fifth of the time and leaves a third more.
const packedQuickly = 8 << 10

var errTooLong = errors.New("it is longer than any that is packed so")

// packer compresses large bodies before they are stored: less to send, to log
// ahead and to keep. Both halves are safe for concurrent use.
type packer struct {
	encoder *zstd.Encoder
	decoder *zstd.Decoder
}

func newPacker() (*packer, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2), zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, err
	}
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxBody))
	if err != nil {
		return nil, err
	}
	return &packer{encoder, decoder}, nil
}

func (p *packer) pack(body []byte) []byte {
	if len(body) < packFrom {
		return body
	}
	if len(body) <= packedQuickly {
		packed := append(make([]byte, 0, len(s2Mark)+s2.MaxEncodedLen(len(body))), s2Mark...)
		return packed[:len(s2Mark)+len(s2.Encode(packed[len(s2Mark):cap(packed)], body))]
	}
	return p.encoder.EncodeAll(body, nil)
}

func (p *packer) unpack(stored []byte) ([]byte, error) {
	if quick, found := bytes.CutPrefix(stored, s2Mark); found {
		if n, err := s2.DecodedLen(quick); err != nil || n > packedQuickly {
			return nil, fmt.Errorf("a stored body cannot be unpacked: %w", cmp.Or(err, errTooLong))
		}
		body, err := s2.Decode(nil, quick)
		if err != nil {
			return nil, fmt.Errorf("a stored body cannot be unpacked: %w", err)
		}
		return body, nil
	}
	if !bytes.HasPrefix(stored, zstdMagic) {
		return stored, nil
	}
	body, err := p.decoder.DecodeAll(stored, nil)
	if err != nil {
		return nil, fmt.Errorf("a stored body cannot be unpacked: %w", err)
	}
	return body, nil
}

// packedHead is how many bytes of a stored body tell how long it is unpacked.
const packedHead = zstd.HeaderMaxSize

// unpackedLength is how long a stored body is unpacked, by its beginning and by how
// long it is as stored. One that does not say is not long.
func unpackedLength(head []byte, stored int) int {
	var header zstd.Header
	if bytes.HasPrefix(head, zstdMagic) && header.Decode(head) == nil {
		return int(min(header.FrameContentSize, maxBody))
	}
	return stored
}
