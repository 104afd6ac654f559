package reference

import (
	"net/url"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// example is a request or a response.
type example struct{ title, text string }

// lineWidth is the length of a line beyond which formatJSON breaks a value into lines.
const lineWidth = 80

// formatJSON indents JSON and keeps values that fit on one line. A string is returned as its text.
func formatJSON(value jsontext.Value) string {
	if value.Kind() == '"' {
		return strings.TrimRight(plainValue(value), "\n")
	}
	var b strings.Builder
	writeJSON(&b, value, "", 0)
	return b.String()
}

// writeJSON writes a value at column before of its line.
func writeJSON(b *strings.Builder, value jsontext.Value, indent string, before int) {
	flat := value.Clone()
	if flat.Format(jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true)) != nil {
		b.Write(value)
		return
	}
	var object orderedMap[jsontext.Value]
	var array []jsontext.Value
	open := before == 0 || len(indent)+before+len(flat) > lineWidth // always break the outermost value
	switch {
	case open && value.Kind() == '{' && json.Unmarshal(value, &object) == nil && len(object) > 0:
		b.WriteString("{")
		for i, each := range object {
			name, err := jsontext.AppendQuote(nil, each.name)
			if err != nil {
				name = []byte(`""`) // cannot happen: the name comes from JSON
			}
			b.WriteString(comma(i) + "\n" + indent + "  " + string(name) + ": ")
			writeJSON(b, each.value, indent+"  ", len(name)+len(": "))
		}
		b.WriteString("\n" + indent + "}")
	case open && value.Kind() == '[' && json.Unmarshal(value, &array) == nil && len(array) > 0:
		b.WriteString("[")
		for i, each := range array {
			b.WriteString(comma(i) + "\n" + indent + "  ")
			writeJSON(b, each, indent+"  ", 1)
		}
		b.WriteString("\n" + indent + "]")
	default:
		b.Write(flat)
	}
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// examplesOf returns the examples of a body.
func examplesOf(m media) []example {
	var list []example
	if len(m.Example) > 0 {
		list = append(list, example{"Example", formatJSON(m.Example)})
	}
	for _, each := range m.Examples {
		list = append(list, example{each.value.Summary, formatJSON(each.value.Value)})
	}
	return list
}

// examples returns one curl command per request body.
func (c curlCommand) examples() []example {
	command := "curl "
	if c.method != "GET" {
		command += "-X " + c.method + " "
	}
	command += shellQuote(c.base + c.exampleURL())
	if c.secured {
		command += " \\\n  -H 'Authorization: apikey USERNAME:API_KEY'"
	}
	if len(c.bodies) == 0 {
		return []example{{"Request", command}}
	}
	var list []example
	for _, body := range c.bodies {
		list = append(list, example{body.title, command +
			" \\\n  -H 'Content-Type: application/json' \\\n  -d " + shellQuote(body.text)})
	}
	return list
}

// curlCommand is the input of a curl command.
type curlCommand struct {
	base, method, path string
	secured            bool
	parameters         []*parameter
	bodies             []example
}

// exampleURL returns the path with the example values of its parameters.
func (c curlCommand) exampleURL() string {
	path, query := c.path, []string{}
	for _, p := range c.parameters {
		if len(p.Example) == 0 {
			continue
		}
		switch value := joinValue(p.Example); p.In {
		case "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(value))
		case "query":
			query = append(query, p.Name+"="+strings.ReplaceAll(url.QueryEscape(value), "%2C", ","))
		}
	}
	if len(query) > 0 {
		path += "?" + strings.Join(query, "&")
	}
	return path
}

// joinValue returns a value as text, with array elements joined by commas.
func joinValue(value jsontext.Value) string {
	var elements []jsontext.Value
	if value.Kind() != '[' || json.Unmarshal(value, &elements) != nil {
		return plainValue(value)
	}
	words := make([]string, len(elements))
	for i, each := range elements {
		words[i] = plainValue(each)
	}
	return strings.Join(words, ",")
}

// shellQuote quotes text for a POSIX shell where needed.
func shellQuote(text string) string {
	plain := strings.IndexFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune(":/._-", r))
	}) < 0
	if plain && text != "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
