// Package migrations embeds the schema of the hub's database: numbered pairs of
// *.tx.up.sql and *.tx.down.sql, each run in one transaction. The first ones create one domain
// each. Later ones add to them.
//
// A database is identified as one of an earlier build by the number of the first migration. To
// rewrite the migrations, give them new numbers.
package migrations

import "embed"

// Files holds every migration.
//
//go:embed *.sql
var Files embed.FS
