package plugintap

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"regexp"
	"strings"

	"github.com/servery-hub/servery/plugins/sdk"
)

// unreadable replaces what cannot be masked.
const unreadable = "[not shown: its format is unknown]"

// MaskBody replaces personal values in a body, by its format. A body in an unknown format is text, in which only phone
// numbers and e-mail addresses are replaced.
func MaskBody(body string) string {
	trimmed := strings.TrimSpace(body)
	switch {
	case trimmed == "":
		return body
	case json.Valid([]byte(trimmed)):
		return string(MaskJSON([]byte(trimmed)))
	case strings.HasPrefix(trimmed, "--"):
		return maskMultipart(trimmed)
	case strings.HasPrefix(trimmed, "<"):
		return maskXML(trimmed)
	case isForm(trimmed):
		return maskForm(trimmed)
	case isTable(trimmed):
		return maskTable(trimmed)
	}
	return sdk.MaskPersonal(body)
}

// isForm reports whether a body looks like fields of a form.
func isForm(body string) bool {
	name, _, found := strings.Cut(body, "=")
	return found && !strings.ContainsAny(body, " \n\t<\"") && !strings.ContainsAny(name, ",;")
}

func maskForm(body string) string {
	fields := strings.Split(body, "&")
	for i, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		plainName, nameErr := url.QueryUnescape(name)
		plain, valueErr := url.QueryUnescape(value)
		if nameErr != nil || valueErr != nil {
			return unreadable
		}
		fields[i] = plainName + "=" + maskField(plainName, plain)
	}
	return strings.Join(fields, "&")
}

// maskField masks the value of a field of a form or a table. The value can be a whole document.
func maskField(name, value string) string {
	if masked := maskScalar(name, "", value); masked != value {
		return masked
	}
	if strings.ContainsAny(value, "{[<") {
		return MaskBody(value)
	}
	return sdk.MaskPersonal(value)
}

// delimiterOf returns the delimiter of a table in CSV, or 0.
func delimiterOf(body string) rune {
	first, _, _ := strings.Cut(body, "\n")
	for _, delimiter := range ",;\t|" {
		if strings.ContainsRune(first, delimiter) {
			return delimiter
		}
	}
	return 0
}

func isTable(body string) bool { return strings.Contains(body, "\n") && delimiterOf(body) != 0 }

// maskTable masks the columns of a table whose first line names them.
func maskTable(body string) string {
	reader := csv.NewReader(strings.NewReader(body))
	reader.Comma, reader.FieldsPerRecord, reader.LazyQuotes = delimiterOf(body), -1, true
	rows, err := reader.ReadAll()
	if err != nil {
		return unreadable
	}
	for n, row := range rows {
		for column := range row {
			name := ""
			if column < len(rows[0]) {
				name = rows[0][column]
			}
			if n > 0 {
				row[column] = maskField(name, row[column])
			}
		}
	}
	var out bytes.Buffer
	writer := csv.NewWriter(&out)
	writer.Comma = reader.Comma
	for n, row := range rows {
		if n == 0 {
			for column := range row {
				row[column] = sdk.MaskPersonal(row[column])
			}
		}
		if writer.Write(row) != nil {
			return unreadable
		}
	}
	writer.Flush()
	return strings.TrimSuffix(out.String(), "\n")
}

// attribute matches an attribute of an XML element.
var attribute = regexp.MustCompile(`([\w:.-]+)(\s*=\s*)("[^"]*"|'[^']*')`)

// maskXML masks texts and attributes by the names of elements.
func maskXML(body string) string {
	decoder := xml.NewDecoder(strings.NewReader(body))
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	var out strings.Builder
	path := []string{""}
	for {
		start := decoder.InputOffset()
		token, err := decoder.RawToken()
		if err == io.EOF && len(path) == 1 {
			return out.String()
		}
		if err != nil {
			return unreadable
		}
		raw := body[start:decoder.InputOffset()]
		current := path[len(path)-1]
		switch token := token.(type) {
		case xml.StartElement:
			path = append(path, token.Name.Local)
			raw = attribute.ReplaceAllStringFunc(raw, func(pair string) string {
				parts := attribute.FindStringSubmatch(pair)
				value := parts[3][1 : len(parts[3])-1]
				return parts[1] + parts[2] + `"` + maskElement(parts[1], token.Name.Local, value) + `"`
			})
		case xml.EndElement:
			if len(path) == 1 {
				return unreadable
			}
			path = path[:len(path)-1]
		case xml.CharData:
			if strings.TrimSpace(raw) != "" {
				raw = maskWithin(path, current, raw)
			}
		case xml.Comment:
			raw = sdk.MaskPersonal(raw)
		}
		out.WriteString(raw)
	}
}

// maskWithin masks a text in an element. An element within a personal one, such as city within address, is personal.
func maskWithin(path []string, name, text string) string {
	parent := ""
	for n, element := range path[:len(path)-1] {
		if n > 0 {
			parent = path[n-1]
		}
		if kind := maskOf(element, parent); kind != "" {
			return kind
		}
	}
	return maskElement(name, path[max(0, len(path)-2)], text)
}

func maskElement(name, parent, text string) string {
	if masked := maskScalar(name, parent, text); masked != text {
		return masked
	}
	return sdk.MaskPersonal(text)
}

// maskMultipart masks each part of a multipart body by its format.
func maskMultipart(body string) string {
	first, _, _ := strings.Cut(body, "\n")
	boundary := strings.TrimPrefix(strings.TrimSpace(first), "--")
	if boundary == "" {
		return unreadable
	}
	reader := multipart.NewReader(strings.NewReader(body), boundary)
	var out strings.Builder
	for {
		part, err := reader.NextRawPart()
		if err == io.EOF {
			return out.String() + "--" + boundary + "--"
		}
		if err != nil {
			return unreadable
		}
		text, err := io.ReadAll(part)
		if err != nil {
			return unreadable
		}
		disposition := part.Header.Get("Content-Disposition")
		_, parameters, _ := mime.ParseMediaType(disposition)
		masked := maskScalar(parameters["name"], "", string(text))
		if masked == string(text) {
			masked = MaskBody(masked)
		}
		fmt.Fprintf(&out, "--%s\nContent-Disposition: %s\n\n%s\n", boundary, sdk.MaskPersonal(disposition), masked)
	}
}
