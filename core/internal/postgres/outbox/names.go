package outbox

import "github.com/uptrace/bun"

// SentName is the name of the row platform in events: its sent alias, or its own name.
var SentName = SentNameOf("platform.business_id", "platform.name")

// SentNameOf is the name of a platform in events. The arguments are columns of a statement.
func SentNameOf(business, platform string) bun.Safe {
	return bun.Safe(`coalesce((SELECT sent.alias FROM platform_aliases sent WHERE sent.business_id = ` + business +
		` AND sent.platform = ` + platform + ` AND sent.sent), ` + platform + `)`)
}
