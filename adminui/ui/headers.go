package ui

import (
	"slices"
	"strings"
)

// Headers returns headers sorted by name.
func Headers(h map[string]string) []Option {
	list := make([]Option, 0, len(h))
	for name, value := range h {
		list = append(list, Option{Label: name, Value: value})
	}
	slices.SortFunc(list, func(a, b Option) int { return strings.Compare(a.Label, b.Label) })
	return list
}
