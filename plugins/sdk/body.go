package sdk

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"
)

// maxParts bounds the parts of a multipart body.
const maxParts = 1000

// ReadForm returns the fields of an inbound request with a form: application/x-www-form-urlencoded or
// multipart/form-data. The content of a file is the value of its field. The error is a refusal.
func ReadForm(request *InboundRequest) (url.Values, error) {
	media, parameters, err := mime.ParseMediaType(request.GetHeaders()["content-type"])
	if err == nil && media == "multipart/form-data" {
		boundary := parameters["boundary"]
		if !bytes.Contains(request.GetBody(), []byte("--"+boundary+"--")) { // the reader does not notice a cut end
			return nil, Refusef("the multipart form is incomplete")
		}
		return readParts(multipart.NewReader(bytes.NewReader(request.GetBody()), boundary))
	}
	form, err := url.ParseQuery(string(request.GetBody()))
	if err != nil {
		return nil, Refusef("the body is not a valid form")
	}
	return form, nil
}

func readParts(parts *multipart.Reader) (url.Values, error) {
	form := url.Values{}
	for range maxParts {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return form, nil
		}
		if err != nil {
			return nil, Refusef("the body is not a valid multipart form")
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return nil, Refusef("the body is not a valid multipart form")
		}
		form.Add(part.FormName(), string(value))
	}
	return nil, Refusef("the form has more than %d parts", maxParts)
}

// ReadXML decodes an inbound request with an XML body, as xml.Unmarshal does. The encoding must be UTF-8,
// US-ASCII or ISO-8859-1. The error is a refusal.
func ReadXML(request *InboundRequest, v any) error {
	decoder := xml.NewDecoder(bytes.NewReader(request.GetBody()))
	decoder.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		switch strings.ToLower(charset) {
		case "us-ascii", "ascii":
			return in, nil
		case "iso-8859-1", "latin1":
			return latin1(in)
		}
		return nil, errors.New("unknown encoding")
	}
	if err := decoder.Decode(v); err != nil {
		return Refusef("the body is not valid XML")
	}
	return nil
}

// latin1 converts ISO-8859-1, whose bytes are the first code points of Unicode.
func latin1(in io.Reader) (io.Reader, error) {
	raw, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	text := make([]rune, len(raw))
	for i, b := range raw {
		text[i] = rune(b)
	}
	return strings.NewReader(string(text)), nil
}
