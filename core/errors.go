package core

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// Code classifies an error for callers; package problem documents each and maps it to one HTTP status.
type Code string

// The codes an error can carry.
const (
	Invalid          Code = "invalid"
	Unauthenticated  Code = "unauthenticated"
	Forbidden        Code = "forbidden"
	NotFound         Code = "not_found"
	MethodNotAllowed Code = "method_not_allowed"
	Conflict         Code = "conflict"
	TooLarge         Code = "too_large"
	UnsupportedMedia Code = "unsupported_media_type"
	Throttled        Code = "throttled"
	Internal         Code = "internal"
	Unavailable      Code = "unavailable"
)

// Error is an error with a code and a message that a caller may read. Cause is
// for the log only and is never shown.
type Error struct {
	Code       Code
	Message    string
	Violations []Violation   // of Invalid and NotFound: what is wrong and where, at most MaxViolations
	RetryAfter time.Duration // of Throttled and Unavailable: when to come again
	Cause      error
}

// Error is the message, with the cause where there is one.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return e.Message
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an Error with a formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// NoSuch is the NotFound error of a field that names what is not there. The rule
// reads on from the field and its value: "there is no order with this id".
func NoSuch(field string, value any, rule string) *Error {
	message := fmt.Sprintf("%s %v: %s", field, value, rule)
	return &Error{Code: NotFound, Message: message, Violations: []Violation{{Path: field, Code: "unknown", Message: message}}}
}

// CodeOf is the code of the first Error in the chain, Internal for any other
// error and "" for nil.
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

// IsCutOff tells whether an error means that the database was lost, starts or stops, did
// not answer in time, has no room, memory or connection left, or takes no changes now.
func IsCutOff(err error) bool {
	var network net.Error // deadlines among them
	var said interface{ Field(byte) string }
	if errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, driver.ErrBadConn) {
		return true
	}
	if !errors.As(err, &said) {
		return false
	}
	code := said.Field('C') // 57P: operator intervention; 53: insufficient resources; 25006: read-only
	return strings.HasPrefix(code, "57P") || strings.HasPrefix(code, "53") || code == "25006"
}

// MaxViolations bounds the violations listed in one answer.
const MaxViolations = 100

// Violation is one thing wrong with a request.
type Violation struct {
	Path    string `json:"path"` // such as stores[3].timings[0].day; "" is the whole body
	Code    string `json:"code"` // such as required, type, range, duplicate
	Message string `json:"message"`
}

// Violations collects what is wrong with a request, in the order found.
type Violations struct {
	list  []Violation
	total int
	first string
}

// Object is the place that violations are reported at: an element of an array
// of the request, named by its ref_id where that is known.
type Object struct {
	Array string
	Index int
	RefID string
	Named string // what the ref_id is called here; "" is ref_id
}

// String is the form used in messages: stores[3] (ref_id "S-17").
func (o Object) String() string {
	if o.RefID == "" {
		return o.path()
	}
	return fmt.Sprintf("%s (%s %q)", o.path(), o.named(), o.RefID)
}

func (o Object) named() string {
	if o.Named == "" {
		return "ref_id"
	}
	return o.Named
}

func (o Object) path() string { return fmt.Sprintf("%s[%d]", o.Array, o.Index) }

// Add records that the field of the object breaks a rule. The rule reads on
// from the field's name: "is required", "must be a whole number".
func (v *Violations) Add(at Object, field, code, rule string) {
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

// AddBody records that a field of the body itself breaks a rule; field "" is the body.
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

// Any tells whether anything was recorded.
func (v *Violations) Any() bool { return v.total > 0 }

// Err is nil when nothing was recorded, else an Invalid error whose message is
// the first violation.
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
