package menu

import (
	"fmt"
	"strings"
)

// singular names one entity of each kind in messages.
var singular = PerKind[string]{"category", "item", "option group", "option", "tax", "charge"}

func unknownRef(field string, kind Kind, ref string) string {
	return fmt.Sprintf("%s names the %s %s, which does not exist", field, singular[kind], quote(ref))
}

func unknownPlatform(field, name string) string {
	return fmt.Sprintf("%s names the platform %s, which this business does not have", field, quote(name))
}

func quote(s string) string { return `"` + strings.ToValidUTF8(s, "?") + `"` }
