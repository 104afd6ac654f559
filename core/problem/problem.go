// Package problem documents the errors of the API. For each error code it has the HTTP status, meaning, cause and
// remedy, and for each code in errors[].code the meaning and remedy. The API and the Errors page of the documentation
// use it.
package problem

import (
	"net/http"
	"slices"

	"github.com/servery-hub/servery/core"
)

// Error documents one error code. Its texts are single-line Markdown.
type Error struct {
	Code    core.Code
	Status  int // HTTP
	Meaning string
	Cause   string
	Remedy  string
}

// Violation documents one code in errors[].code. Its texts are single-line Markdown.
type Violation struct {
	Code    string
	Meaning string
	Remedy  string
}

// Errors returns every error code, sorted by status.
func Errors() []Error { return slices.Clone(errorTable) }

// Violations returns every violation code, sorted by name.
func Violations() []Violation { return slices.Clone(violationTable) }

// Status returns the HTTP status of an error code, or 500 for an unknown code.
func Status(code core.Code) int {
	for _, e := range errorTable {
		if e.Code == code {
			return e.Status
		}
	}
	return http.StatusInternalServerError
}
