package ui

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/servery-hub/servery/adminui/text"
)

// Payload is a body of a page, as text. A script makes it foldable and searchable.
type Payload struct {
	Label string
	Whole string // the label of the whole body
	Text  string // indented, possibly only the beginning
	URL   string // of the whole body; "" if Text is all there is
	Size  int    // bytes of the whole body
	id    string
}

// MaxShown limits, in bytes, what a page shows of its main bodies.
const MaxShown = 16 << 10

// PayloadOf returns the beginning of a body, about limit bytes. The key identifies the body on its page. The whole body
// is at url, "" if there is no more of it.
func PayloadOf(key, name string, raw []byte, limit int, url string) Payload {
	if len(raw) == 0 {
		return Payload{}
	}
	sum := sha256.Sum256(raw)
	shown, complete := Indent(raw, limit)
	p := Payload{Whole: fmt.Sprintf(text.BodyWhole, name, Size(len(raw))), Text: shown, Size: len(raw),
		id: key + "-" + hex.EncodeToString(sum[:4])}
	p.Label = p.Whole
	if !complete {
		p.Text += clippedMark
		p.Label, p.URL = fmt.Sprintf(text.BodyClipped, name, Size(len(raw))), url
	}
	return p
}
