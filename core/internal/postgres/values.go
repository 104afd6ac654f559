package postgres

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/uptrace/bun/dialect/pgdialect"
)

// NullTime returns NULL for the zero time.
func NullTime(t time.Time) sql.NullTime { return sql.NullTime{Time: t, Valid: !t.IsZero()} }

// OrZero is a scan destination that reads NULL as the zero value.
func OrZero[T any](value *T) sql.Scanner { return orZero[T]{value} }

type orZero[T any] struct{ value *T }

// Scan stores a column.
func (z orZero[T]) Scan(column any) error {
	var scanned sql.Null[T]
	err := scanned.Scan(column)
	*z.value = scanned.V
	return err
}

// Array returns a list as an array parameter. A nil list is an empty array.
func Array[T any](list []T) any {
	if list == nil {
		list = []T{} // NULL would match nothing
	}
	return pgdialect.Array(list)
}

// Quoted quotes text of a request body for a message, truncated to 255 characters.
func Quoted(text string) string { return fmt.Sprintf("%.255q", text) }
