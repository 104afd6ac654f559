package step

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"net/url"
	"strings"
)

// Body specifies the body of a request. It has Raw, Form or Parts.
type Body struct {
	Raw   []byte
	Fill  []string // JSON pointers of the strings of Raw that have placeholders
	Form  []Field
	Parts []Part
	Gzip  bool
}

// Field is a field of a form.
type Field struct{ Name, Value string }

// Part is a part of a multipart body. It has Text or Content.
type Part struct {
	Name, Filename, ContentType string
	Text                        string
	Content                     []byte
}

// Encoded is a body as it is sent.
type Encoded struct {
	Body    []byte
	Plain   []byte            // before the compression
	Headers map[string]string // that it needs
}

// Encode returns a body with the placeholders replaced. Equal bodies have equal encodings.
func (b Body) Encode(values Values) (e Encoded, err error) {
	e = Encoded{Plain: b.Raw, Headers: map[string]string{}}
	switch {
	case len(b.Fill) > 0:
		e.Plain, err = values.JSON(b.Raw, b.Fill)
	case len(b.Form) > 0:
		e.Headers["Content-Type"] = "application/x-www-form-urlencoded"
		e.Plain, err = form(b.Form, values)
	case len(b.Parts) > 0:
		e.Plain, e.Headers["Content-Type"], err = multiparts(b.Parts, values)
	}
	if e.Body = e.Plain; err != nil || !b.Gzip {
		return e, err
	}
	e.Headers["Content-Encoding"] = "gzip"
	e.Body, err = compressed(e.Plain)
	return e, err
}

func form(fields []Field, values Values) ([]byte, error) {
	var pairs []string
	for _, f := range fields {
		text, err := values.Text(f.Value)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, url.QueryEscape(f.Name)+"="+url.QueryEscape(text))
	}
	return []byte(strings.Join(pairs, "&")), nil
}

// multiparts returns a multipart/form-data body and its content type. The boundary is a digest of the parts, so that
// none of them can have it.
func multiparts(parts []Part, values Values) (body []byte, contentType string, err error) {
	sum := sha256.New()
	contents := make([][]byte, len(parts))
	for i, p := range parts {
		if contents[i] = p.Content; p.Text != "" {
			text, err := values.Text(p.Text)
			if err != nil {
				return nil, "", err
			}
			contents[i] = []byte(text)
		}
		fmt.Fprintf(sum, "%q %q %q %d:", p.Name, p.Filename, p.ContentType, len(contents[i]))
		sum.Write(contents[i])
	}
	var out bytes.Buffer
	writer := multipart.NewWriter(&out)
	if err := writer.SetBoundary(hex.EncodeToString(sum.Sum(nil))); err != nil {
		return nil, "", err
	}
	for i, p := range parts {
		into, err := writer.CreatePart(p.header())
		if err != nil {
			return nil, "", err
		}
		if _, err := into.Write(contents[i]); err != nil {
			return nil, "", err
		}
	}
	err = writer.Close()
	return out.Bytes(), writer.FormDataContentType(), err
}

// quoteEscaper escapes names as browsers do.
var quoteEscaper = strings.NewReplacer(`"`, "%22", "\r", "%0D", "\n", "%0A")

func (p Part) header() textproto.MIMEHeader {
	disposition := `form-data; name="` + quoteEscaper.Replace(p.Name) + `"`
	if p.Filename != "" {
		disposition += `; filename="` + quoteEscaper.Replace(p.Filename) + `"`
	}
	header := textproto.MIMEHeader{"Content-Disposition": {disposition}}
	if p.ContentType != "" {
		header.Set("Content-Type", p.ContentType)
	}
	return header
}

func compressed(plain []byte) ([]byte, error) {
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := io.Copy(writer, bytes.NewReader(plain)); err != nil {
		return nil, err
	}
	err := writer.Close()
	return out.Bytes(), err
}
