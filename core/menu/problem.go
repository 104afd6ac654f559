package menu

import (
	"fmt"
	"slices"
	"strings"
)

// singular is the name of one entity of each kind, for messages.
var singular = PerKind[string]{"category", "item", "option group", "option", "tax", "charge"}

var plural = PerKind[string]{"categories", "items", "option groups", "options", "taxes", "charges"}

func unknownRef(field string, kind Kind, ref string) string {
	return fmt.Sprintf("%s names the %s %s, which does not exist", field, singular[kind], quote(ref))
}

// leftOut returns the warning about the unknown references of a list. The others are applied (contract, Answers).
func leftOut(field string, kind Kind, unknown []string) []Warning {
	switch len(unknown) {
	case 0:
		return nil
	case 1:
		return []Warning{{field, unknownRef(field, kind, unknown[0]) + ", and is ignored"}}
	}
	return []Warning{{field, fmt.Sprintf("%s names %d %s that do not exist, which are ignored: %s", field, len(unknown),
		plural[kind], quoteSome(unknown))}}
}

// maxQuoted bounds the names in one message.
const maxQuoted = 20

func quoteSome(names []string) string {
	quoted := make([]string, min(len(names), maxQuoted))
	for i := range quoted {
		quoted[i] = quote(names[i])
	}
	list := strings.Join(quoted, ", ")
	if more := len(names) - len(quoted); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// withoutEffect returns the warning about platforms that the business does not have. They are kept, and take effect
// when it gets them (contract, Menu).
func withoutEffect(field string, platforms []string) []Warning {
	if len(platforms) == 0 {
		return nil
	}
	slices.Sort(platforms)
	platforms = slices.Compact(platforms)
	noun := "the platform "
	if len(platforms) > 1 {
		noun = "platforms "
	}
	return []Warning{{field, field + " names " + noun + quoteSome(platforms) +
		", which this business does not have yet"}}
}

func quote(s string) string { return `"` + strings.ToValidUTF8(s, "?") + `"` }
