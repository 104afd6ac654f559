package revisions

import (
	"github.com/servery-hub/servery/core/menu"
)

// Bounds of the rows that are read to name the changes of a revision.
const (
	NamedParts = 6 // parts per revision
	NamedIDs   = 3 // ids per part
)

// Owners returns the kinds of entities that own relations.
func Owners() (kinds []int) {
	for relation := range len(menu.PerRelation[int]{}) {
		kinds = append(kinds, int(menu.Relation(relation).Owner()))
	}
	return kinds
}
