package ui

import (
	"slices"
	"strings"
)

// JoinNonEmpty joins the parts that are not empty.
func JoinNonEmpty(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(parts), func(s string) bool { return s == "" }), separator)
}
