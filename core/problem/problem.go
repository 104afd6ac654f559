// Package problem documents the errors of the API: of every error code the HTTP
// status, the meaning, the cause and the remedy, and of every violation code in
// errors[].code the meaning and the remedy. The API takes its statuses from here,
// the documentation its Errors page.
package problem

import (
	"net/http"
	"slices"

	"github.com/servery-hub/servery/core"
)

// Error documents one error code. Its texts are Markdown of one line.
type Error struct {
	Code    core.Code
	Status  int // HTTP
	Meaning string
	Cause   string
	Remedy  string
}

// Violation documents one code of errors[].code. Its texts are Markdown of one line.
type Violation struct {
	Code    string
	Meaning string
	Remedy  string
}

// Errors lists every error code, by status.
func Errors() []Error { return slices.Clone(errorTable) }

// Violations lists every violation code, by name.
func Violations() []Violation { return slices.Clone(violationTable) }

// Status is the HTTP status of an error code.
func Status(code core.Code) int {
	for _, e := range errorTable {
		if e.Code == code {
			return e.Status
		}
	}
	return http.StatusInternalServerError
}
