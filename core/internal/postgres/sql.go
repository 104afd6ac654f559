package postgres

import "embed"

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = MustLoadQueries(files)
