package core

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"time"
)

// Code classifies an error for callers; package problem documents each and maps it to one HTTP status.
type Code string

// The error codes.
const (
	Invalid          Code = "invalid"
	Unauthenticated  Code = "unauthenticated"
	Forbidden        Code = "forbidden"
	NotFound         Code = "not_found"
	MethodNotAllowed Code = "method_not_allowed"
	Conflict         Code = "conflict"
	TooSlow          Code = "too_slow"
	TooLarge         Code = "too_large"
	UnsupportedMedia Code = "unsupported_media_type"
	Throttled        Code = "throttled"
	Internal         Code = "internal"
	Unavailable      Code = "unavailable"
)

// Error is an error with a code and a message that is safe to show to a caller. Cause is for the log only and is never
// shown.
type Error struct {
	Code       Code
	Message    string
	Violations []Violation   // of Invalid and NotFound: what is wrong and where, at most MaxViolations
	RetryAfter time.Duration // of Throttled and Unavailable: how long to wait before a retry
	Cause      error
}

// Error returns the message, followed by the cause if there is one.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf returns an Error with a formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// NoSuch returns the NotFound error for a field that refers to an unknown object. The rule continues a message that
// begins with the field and its value: "there is no order with this id".
func NoSuch(field string, value any, rule string) *Error {
	message := fmt.Sprintf("%s %v: %s", field, value, rule)
	return &Error{Code: NotFound, Message: message,
		Violations: []Violation{{Path: field, Code: "unknown", Message: message}}}
}

// CodeOf returns the code of the first Error in the chain. It returns Internal for any other error and "" for nil.
func CodeOf(err error) Code {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code
	default:
		return Internal
	}
}

// PublicMessage returns what callers outside of the hub may read of an error. It is the message of the first Error in
// the chain, without its cause, or else a general text.
func PublicMessage(err error) string {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Message
	case IsDatabaseUnavailable(err):
		return "the hub cannot use its database now"
	default:
		return "the hub failed"
	}
}

// IsDatabaseUnavailable reports whether an error means that the database is unavailable. It covers a lost connection, a
// restart, a timeout, a lack of disk space, memory or connections, and read-only mode.
func IsDatabaseUnavailable(err error) bool {
	var file *fs.PathError // has an error number, which is a net.Error
	if errors.As(err, &file) {
		return false
	}
	var network net.Error // includes deadline errors
	var database interface{ Field(byte) string }
	if errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, driver.ErrBadConn) {
		return true
	}
	if !errors.As(err, &database) {
		return false
	}
	code := database.Field('C') // 57P: operator intervention; 53: insufficient resources; 25006: read-only
	return strings.HasPrefix(code, "57P") || strings.HasPrefix(code, "53") || code == "25006"
}

// remedied is an error with its remedy.
type remedied struct {
	error
	remedy string
}

// Unwrap returns the error without the remedy.
func (r remedied) Unwrap() error { return r.error }

// WithRemedy adds what an operator can do about an error, if there is one. The text of the error stays the same.
func WithRemedy(err error, remedy string) error {
	if err == nil {
		return nil
	}
	return remedied{err, remedy}
}

// RemedyOf returns the remedy of an error, or "" if it has none.
func RemedyOf(err error) string {
	var known remedied
	errors.As(err, &known)
	return known.remedy
}

// MaxViolations bounds the violations listed in one response.
const MaxViolations = 100

// Violation is one rule that a request breaks.
type Violation struct {
	Path    string `json:"path"` // such as stores[3].timings[0].day; "" is the whole body
	Code    string `json:"code"` // such as required, type, range, duplicate
	Message string `json:"message"`
}

// Violations collects the rules that a request breaks, in the order found.
type Violations struct {
	list  []Violation
	total int
	first string
}

// Object locates a violation: an element of an array of the request, with its ref_id if known.
type Object struct {
	Array      string
	Index      int
	RefID      string
	RefIDField string // the name of the ref_id in this array; "" is ref_id
}

// String returns the form used in messages: stores[3] (ref_id "S-17").
func (o Object) String() string {
	if o.RefID == "" {
		return o.path()
	}
	return fmt.Sprintf("%s (%s %q)", o.path(), o.refIDField(), o.RefID)
}

func (o Object) refIDField() string {
	if o.RefIDField == "" {
		return "ref_id"
	}
	return o.RefIDField
}

func (o Object) path() string { return fmt.Sprintf("%s[%d]", o.Array, o.Index) }

// Add records that a field of the object breaks a rule. The rule continues the field's name: "is required", "must be a
// whole number".
func (v *Violations) Add(at Object, field, code, rule string) {
	if len(v.list) == MaxViolations { // a violation that is not listed needs no message
		v.total++
		return
	}
	path, subject := at.path(), field+" "
	switch {
	case field == "":
		subject = ""
	case field[0] == '[':
		path += field
	default:
		path += "." + field
	}
	v.add(Violation{Path: path, Code: code, Message: at.String() + ": " + subject + rule})
}

// AddBody records that a field of the body itself breaks a rule. An empty field means the whole body.
func (v *Violations) AddBody(field, code, rule string) {
	message := field + " " + rule
	if field == "" {
		message = rule
	}
	v.add(Violation{Path: field, Code: code, Message: message})
}

func (v *Violations) add(violation Violation) {
	if v.total++; v.total == 1 {
		v.first = violation.Message
	}
	if len(v.list) < MaxViolations {
		v.list = append(v.list, violation)
	}
}

// Any reports whether any violation was recorded.
func (v *Violations) Any() bool { return v.total > 0 }

// Err returns nil if nothing was recorded, and otherwise an Invalid error whose message is the first violation.
func (v *Violations) Err() error {
	if v.total == 0 {
		return nil
	}
	message := v.first
	if v.total > 1 {
		message = fmt.Sprintf("%s (and %d more)", message, v.total-1)
	}
	return &Error{Code: Invalid, Message: message, Violations: v.list}
}
