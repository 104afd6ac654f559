package order

import (
	"bytes"
	"encoding/xml"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// maxFormParts bounds the parts of a multipart form that are searched for an order id.
const maxFormParts = 1000

// OrderIDAt returns the order id at a path of a body, such as /order/id. In JSON the path is a pointer (RFC 6901) to a
// string or whole number. In XML it names elements from the root on, or at last an attribute, as in /order/@id. In a
// form it names a field, and then a path of JSON in the field. It returns "" if there is none.
func OrderIDAt(path, contentType string, body []byte) string {
	names := slices.Collect(jsontext.Pointer(path).Tokens())
	if len(names) == 0 || len(body) > MaxBody {
		return ""
	}
	media, parameters, _ := mime.ParseMediaType(contentType)
	switch {
	case media == "application/x-www-form-urlencoded" && !isObject(body):
		form, _ := url.ParseQuery(string(body)) // with an error it has the valid fields
		return idInField(form.Get(names[0]), names[1:])
	case media == "multipart/form-data":
		return idInField(partValue(body, parameters["boundary"], names[0]), names[1:])
	case media == "text/xml" || media == "application/xml" || strings.HasSuffix(media, "+xml"):
		return CleanID(xmlValue(body, names))
	}
	return jsonID(body, names)
}

// CleanID returns the id of an order in a form that can be stored and shown.
func CleanID(id string) string { return sanitize(strings.TrimSpace(id), maxName) }

// isObject reports whether a body looks like JSON. Some senders of JSON name the type of forms.
func isObject(body []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) }

func idInField(value string, names []string) string {
	if len(names) == 0 {
		return CleanID(value)
	}
	return jsonID([]byte(value), names)
}

func jsonID(text []byte, names []string) string {
	value := jsontext.Value(text)
	for _, name := range names {
		if value.Kind() == '[' {
			value = elementAt(value, name)
			continue
		}
		var members map[string]jsontext.Value
		if json.Unmarshal(value, &members, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) != nil {
			return ""
		}
		value = members[name]
	}
	var id core.Identifier
	if json.Unmarshal(value, &id, jsontext.AllowInvalidUTF8(true)) != nil {
		return ""
	}
	return sanitize(string(id), maxName)
}

// elementAt returns an element of an array, or nothing.
func elementAt(array jsontext.Value, index string) jsontext.Value {
	var elements []jsontext.Value
	n, err := strconv.Atoi(index)
	if err != nil || json.Unmarshal(array, &elements, jsontext.AllowDuplicateNames(true),
		jsontext.AllowInvalidUTF8(true)) != nil || n < 0 || n >= len(elements) {
		return nil
	}
	return elements[n]
}

// partValue returns the content of a field of a multipart form.
func partValue(body []byte, boundary, name string) string {
	parts := multipart.NewReader(bytes.NewReader(body), boundary)
	for range maxFormParts {
		part, err := parts.NextRawPart()
		if err != nil {
			return ""
		}
		if part.FormName() == name {
			value, _ := io.ReadAll(part) // with an error it has the valid part
			return string(value)
		}
	}
	return ""
}

// xmlValue returns the text of the first element with a path, or the value of an attribute. It reads up to the first
// error, and accepts any encoding, because ids are ASCII.
func xmlValue(body []byte, path []string) string {
	elements, attribute := path, ""
	if last, found := strings.CutPrefix(path[len(path)-1], "@"); found {
		elements, attribute = path[:len(path)-1], last
	}
	decoder := xml.NewDecoder(bytes.NewReader(body))
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	var at []string
	var text strings.Builder
	for {
		token, err := decoder.Token()
		if err != nil {
			return ""
		}
		switch token := token.(type) {
		case xml.StartElement:
			at = append(at, token.Name.Local)
			if attribute != "" && slices.Equal(at, elements) {
				return attributeOf(token, attribute)
			}
		case xml.CharData:
			if attribute == "" && slices.Equal(at, elements) {
				text.Write(token)
			}
		case xml.EndElement:
			if attribute == "" && slices.Equal(at, elements) {
				return text.String()
			}
			at = at[:len(at)-1]
		}
	}
}

func attributeOf(element xml.StartElement, name string) string {
	for _, a := range element.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}
