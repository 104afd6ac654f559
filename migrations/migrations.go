// Package migrations embeds the schema of the hub's database: numbered pairs of
// *.tx.up.sql and *.tx.down.sql, each run in one transaction.
package migrations

import "embed"

// Files holds every migration.
//
//go:embed *.sql
var Files embed.FS
