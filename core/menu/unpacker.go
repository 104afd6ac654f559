package menu

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// unpacker reads a JSON object member by member, in the form in which the JSON library writes it: without white
// space.
type unpacker struct {
	rest string // begins at the value, or after it
	name string // of the current member
	odd  bool   // the form is not as written by the hub
}

// member advances to the next member. Each value must be read.
func (u *unpacker) member() bool {
	if u.odd || u.rest == "}" {
		return false
	}
	if len(u.rest) > 2 && (u.rest[0] == ',' || u.rest[0] == '{') && u.rest[1] == '"' {
		if end := 2 + strings.IndexByte(u.rest[2:], '"'); end >= 2 && end+1 < len(u.rest) && u.rest[end+1] == ':' {
			u.name, u.rest = u.rest[2:end], u.rest[end+2:]
			return true
		}
	}
	u.odd = true
	return false
}

// upTo consumes the text before the index.
func (u *unpacker) upTo(end int) string {
	taken := u.rest[:end]
	u.rest = u.rest[end:]
	return taken
}

func (u *unpacker) text() string {
	end := stringEnd(u.rest)
	if end < 0 {
		u.odd = true
		return ""
	}
	quoted := u.upTo(end)
	if plain := quoted[1 : end-1]; strings.IndexByte(plain, '\\') < 0 {
		return plain
	}
	plain, err := jsontext.AppendUnquote(nil, quoted)
	u.odd = u.odd || err != nil
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
func (u *unpacker) number() string {
	for i := range len(u.rest) {
		if c := u.rest[i]; c == ',' || c == '}' {
			return u.upTo(i)
		}
	}
	u.odd = true
	return ""
}

func (u *unpacker) int() int64 {
	n, err := strconv.ParseInt(u.number(), 10, 64)
	u.odd = u.odd || err != nil
	return n
}

func (u *unpacker) bool() bool {
	text := u.number()
	u.odd = u.odd || text != "true" && text != "false"
	return text == "true"
}

func (u *unpacker) amount() core.Amount {
	amount, err := core.ParseAmount(u.number())
	u.odd = u.odd || err != nil
	return amount
}

func (u *unpacker) foodType() FoodType {
	text := u.text()
	u.odd = u.odd || len(text) != 1 || text[0] < '1' || text[0] > '4'
	return FoodType(text)
}

// document consumes a list or an object, in raw form.
func (u *unpacker) document() jsontext.Value {
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
			u.odd = u.odd || i == 0
			return jsontext.Value(u.upTo(i + 1))
		}
	}
	u.odd = true
	return nil
}
