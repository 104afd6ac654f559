package postgres

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/uptrace/bun/dialect/pgdialect"
)

// NullTime returns NULL for the zero time.
func NullTime(t time.Time) sql.NullTime { return sql.NullTime{Time: t, Valid: !t.IsZero()} }

// ZeroIfEpoch returns the zero time for the epoch, which stands for NULL.
func ZeroIfEpoch(at time.Time) time.Time {
	if at.Unix() == 0 {
		return time.Time{}
	}
	return at
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
