package menu

import (
	"fmt"
	"strings"

	"github.com/servery-hub/servery/core"
)

// singular is the name of one entity of each kind, for messages.
var singular = PerKind[string]{"category", "item", "option group", "option", "tax", "charge"}

var plural = PerKind[string]{"categories", "items", "option groups", "options", "taxes", "charges"}

func unknownRef(field string, kind Kind, ref string) string {
	return fmt.Sprintf("%s names the %s %s, which does not exist", field, singular[kind], quote(ref))
}

// unknownRefsWarning returns the warning about the unknown references of a list. The others are applied.
func unknownRefsWarning(field string, kind Kind, unknown []string) []Warning {
	switch len(unknown) {
	case 0:
		return nil
	case 1:
		return []Warning{{field, unknownRef(field, kind, unknown[0]) + ", and is ignored"}}
	}
	return []Warning{{field, fmt.Sprintf("%s names %d %s that do not exist, which are ignored: %s", field, len(unknown),
		plural[kind], core.QuoteNames(unknown))}}
}

// asWarnings converts warnings of package core.
func asWarnings(list []core.Warning) (warnings []Warning) {
	for _, w := range list {
		warnings = append(warnings, Warning(w))
	}
	return warnings
}

func quote(s string) string { return `"` + strings.ToValidUTF8(s, "?") + `"` }
