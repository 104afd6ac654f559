package console

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/servery-hub/servery/core"
)

// Bounds of saved views.
const (
	MaxViews       = 50   // of a user and list, and shared ones of a list
	MaxViewName    = 60   // characters
	MaxViewFilters = 2000 // bytes
)

// SavedView is a filter of a list that a user saved under a name.
type SavedView struct {
	Business core.BusinessID
	ID       int64
	User     int64
	Owner    string // email address of the user
	List     string // such as deliveries
	Name     string // unique for a business, list and user
	Filters  string // a query string
	Shared   bool   // with the other users of the business
	At       time.Time
}

// ViewObject returns the name of a saved view in the audit trail.
func ViewObject(id int64) string { return fmt.Sprintf("view/%d", id) }

// Check trims the name. It returns Invalid for a name or filters out of bounds.
func (v *SavedView) Check() error {
	v.Name = strings.TrimSpace(v.Name)
	length := utf8.RuneCountInString(v.Name)
	if length == 0 || length > MaxViewName || !utf8.ValidString(v.Name) ||
		strings.ContainsFunc(v.Name, unicode.IsControl) {
		return core.Errorf(core.Invalid, "the name of a view must have 1 to %d characters", MaxViewName)
	}
	if len(v.Filters) > MaxViewFilters {
		return core.Errorf(core.Invalid, "the filters of a view must have at most %d bytes", MaxViewFilters)
	}
	return nil
}
