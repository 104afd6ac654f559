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
func (u *jsonReader) member() bool {
	if u.nonCanonical || u.rest == "}" {
		return false
	}
	if len(u.rest) > 2 && (u.rest[0] == ',' || u.rest[0] == '{') && u.rest[1] == '"' {
		if end := 2 + strings.IndexByte(u.rest[2:], '"'); end >= 2 && end+1 < len(u.rest) && u.rest[end+1] == ':' {
			u.name, u.rest = u.rest[2:end], u.rest[end+2:]
			return true
		}
	}
	u.nonCanonical = true
	return false
}

// take consumes the text before the index.
func (u *jsonReader) take(end int) string {
	taken := u.rest[:end]
	u.rest = u.rest[end:]
	return taken
}

func (u *jsonReader) text() string {
	end := stringEnd(u.rest)
	if end < 0 {
		u.nonCanonical = true
		return ""
	}
	quoted := u.take(end)
	if plain := quoted[1 : end-1]; strings.IndexByte(plain, '\\') < 0 {
		return plain
	}
	plain, err := jsontext.AppendUnquote(nil, quoted)
	u.nonCanonical = u.nonCanonical || err != nil
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
func (u *jsonReader) number() string {
	for i := range len(u.rest) {
		if c := u.rest[i]; c == ',' || c == '}' {
			return u.take(i)
		}
	}
	u.nonCanonical = true
	return ""
}

func (u *jsonReader) int() int64 {
	n, err := strconv.ParseInt(u.number(), 10, 64)
	u.nonCanonical = u.nonCanonical || err != nil
	return n
}

func (u *jsonReader) bool() bool {
	text := u.number()
	u.nonCanonical = u.nonCanonical || text != "true" && text != "false"
	return text == "true"
}

func (u *jsonReader) amount() core.Amount {
	amount, err := core.ParseAmount(u.number())
	u.nonCanonical = u.nonCanonical || err != nil
	return amount
}

func (u *jsonReader) foodType() FoodType {
	text := u.text()
	u.nonCanonical = u.nonCanonical || len(text) != 1 || text[0] < '1' || text[0] > '4'
	return FoodType(text)
}

// document consumes a list or an object, in raw form.
func (u *jsonReader) document() jsontext.Value {
	depth := 0
	for i := 0; i < len(u.rest); i++ {
		switch u.rest[i] {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '"':
			i += max(0, stringEnd(u.rest[i:])-1)
		}
		if depth == 0 {
			u.nonCanonical = u.nonCanonical || i == 0
			return jsontext.Value(u.take(i + 1))
		}
	}
	u.nonCanonical = true
	return nil
}
