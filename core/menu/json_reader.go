package menu

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// jsonReader reads a JSON object member by member, in the form in which the JSON library writes it: without white
// space.
type jsonReader struct {
	rest         string // begins at the value, or after it
	name         string // of the current member
	nonCanonical bool   // the form is not as written by the hub
}

// member advances to the next member. Each value must be read.
func (j *jsonReader) member() bool {
	if j.nonCanonical || j.rest == "}" {
		return false
	}
	if len(j.rest) > 2 && (j.rest[0] == ',' || j.rest[0] == '{') && j.rest[1] == '"' {
		if end := 2 + strings.IndexByte(j.rest[2:], '"'); end >= 2 && end+1 < len(j.rest) && j.rest[end+1] == ':' {
			j.name, j.rest = j.rest[2:end], j.rest[end+2:]
			return true
		}
	}
	j.nonCanonical = true
	return false
}

// take consumes the text before the index.
func (j *jsonReader) take(end int) string {
	taken := j.rest[:end]
	j.rest = j.rest[end:]
	return taken
}

func (j *jsonReader) text() string {
	end := stringEnd(j.rest)
	if end < 0 {
		j.nonCanonical = true
		return ""
	}
	quoted := j.take(end)
	if plain := quoted[1 : end-1]; strings.IndexByte(plain, '\\') < 0 {
		return plain
	}
	plain, err := jsontext.AppendUnquote(nil, quoted)
	j.nonCanonical = j.nonCanonical || err != nil
	return string(plain)
}

// stringEnd returns the end of the string at the start of the text, or -1 if there is none.
func stringEnd(text string) int {
	if text == "" || text[0] != '"' {
		return -1
	}
	for end := 1; ; {
		quote := strings.IndexByte(text[end:], '"')
		if quote < 0 {
			return -1
		}
		end += quote + 1
		if text[end-2] != '\\' || (end-1-len(strings.TrimRight(text[:end-1], `\`)))%2 == 0 {
			return end
		}
	}
}

// number consumes the text of a number.
func (j *jsonReader) number() string {
	for i := range len(j.rest) {
		if c := j.rest[i]; c == ',' || c == '}' {
			return j.take(i)
		}
	}
	j.nonCanonical = true
	return ""
}

func (j *jsonReader) int() int64 {
	n, err := strconv.ParseInt(j.number(), 10, 64)
	j.nonCanonical = j.nonCanonical || err != nil
	return n
}

func (j *jsonReader) bool() bool {
	text := j.number()
	j.nonCanonical = j.nonCanonical || text != "true" && text != "false"
	return text == "true"
}

func (j *jsonReader) amount() core.Amount {
	amount, err := core.ParseAmount(j.number())
	j.nonCanonical = j.nonCanonical || err != nil
	return amount
}

func (j *jsonReader) foodType() FoodType {
	text := j.text()
	j.nonCanonical = j.nonCanonical || len(text) != 1 || text[0] < '1' || text[0] > '4'
	return FoodType(text)
}

// document consumes a list or an object, in raw form.
func (j *jsonReader) document() jsontext.Value {
	depth := 0
	for i := 0; i < len(j.rest); i++ {
		switch j.rest[i] {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '"':
			i += max(0, stringEnd(j.rest[i:])-1)
		}
		if depth == 0 {
			j.nonCanonical = j.nonCanonical || i == 0
			return jsontext.Value(j.take(i + 1))
		}
	}
	j.nonCanonical = true
	return nil
}
