package sdk

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// isPointer reports whether a text is a JSON pointer (RFC 6901) to a value within a document.
func isPointer(text string) bool {
	unescaped := strings.NewReplacer("~0", "", "~1", "").Replace(text)
	return strings.HasPrefix(text, "/") && !strings.Contains(unescaped, "~")
}

var indexPattern = regexp.MustCompile(`^(0|[1-9][0-9]{0,8})$`)

// stringAt returns the string at a JSON pointer. Like the hub, it rejects a body with duplicate names.
func stringAt(body []byte, pointer string) (string, bool) {
	var value any
	if !utf8.Valid(body) || !hasUniqueNames(json.NewDecoder(bytes.NewReader(body))) ||
		json.Unmarshal(body, &value) != nil {
		return "", false
	}
	tokens := strings.NewReplacer("~1", "/", "~0", "~")
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch node := value.(type) {
		case map[string]any:
			value = node[tokens.Replace(token)]
		case []any:
			n, err := strconv.Atoi(token)
			if err != nil || !indexPattern.MatchString(token) || n >= len(node) {
				return "", false
			}
			value = node[n]
		default:
			return "", false
		}
	}
	text, ok := value.(string)
	return text, ok
}

// hasUniqueNames reports whether no object of the next JSON value has two members of one name.
func hasUniqueNames(in *json.Decoder) bool {
	token, err := in.Token()
	open, nested := token.(json.Delim)
	if err != nil || !nested {
		return err == nil
	}
	names := map[string]bool{}
	for in.More() {
		if open == '{' {
			token, err := in.Token()
			name, _ := token.(string)
			if err != nil || names[name] {
				return false
			}
			names[name] = true
		}
		if !hasUniqueNames(in) {
			return false
		}
	}
	_, err = in.Token()
	return err == nil
}
