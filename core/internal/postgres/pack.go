package postgres

import (
	"bytes"
	"fmt"

	"github.com/klauspost/compress/zstd"
)

// packFrom is the size from which a body is worth packing, in bytes: below that at
// which PostgreSQL would compress it itself, more slowly, and move it out of its row.
const packFrom = 1500

// maxBody bounds what a packed body may unfold to.
const maxBody = 1 << 30

var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd} // RFC 8878, section 3.1.1: no JSON begins so

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
	return p.encoder.EncodeAll(body, nil)
}

func (p *packer) unpack(stored []byte) ([]byte, error) {
	if !bytes.HasPrefix(stored, zstdMagic) {
		return stored, nil
	}
	body, err := p.decoder.DecodeAll(stored, nil)
	if err != nil {
		return nil, fmt.Errorf("a stored body cannot be unpacked: %w", err)
	}
	return body, nil
}
