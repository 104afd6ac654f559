package postgres

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/uptrace/bun"
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

// SentName is the name of the row platform in events: its sent alias, or its own name.
var SentName = SentNameOf("platform.business_id", "platform.name")

// SentNameOf is the name of a platform in events. The arguments are columns of a statement.
func SentNameOf(business, platform string) bun.Safe {
	return bun.Safe(`coalesce((SELECT sent.alias FROM platform_aliases sent WHERE sent.business_id = ` + business +
		` AND sent.platform = ` + platform + ` AND sent.sent), ` + platform + `)`)
}

// PlatformStoreID is the SQL of the platform store id of the row store on the row platform, "" without
// one.
const PlatformStoreID = `coalesce((SELECT data ->> 'platform_store_id'
	FROM jsonb_array_elements(store.platform_data) data
	WHERE data ->> 'name' = platform.name LIMIT 1), '')`
