package sdk

import (
	"encoding/json"
	"strconv"
	"strings"
)

// isPointer reports whether a text is a JSON pointer (RFC 6901) to a value within a document.
func isPointer(text string) bool {
	unescaped := strings.NewReplacer("~0", "", "~1", "").Replace(text)
	return strings.HasPrefix(text, "/") && !strings.Contains(unescaped, "~")
}

// stringAt returns the string at a JSON pointer.
func stringAt(body []byte, pointer string) (string, bool) {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return "", false
	}
	tokens := strings.NewReplacer("~1", "/", "~0", "~")
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch node := value.(type) {
		case map[string]any:
			value = node[tokens.Replace(token)]
		case []any:
			n, err := strconv.Atoi(token)
			if err != nil || n < 0 || n >= len(node) {
				return "", false
			}
			value = node[n]
		}
	}
	text, ok := value.(string)
	return text, ok
}
