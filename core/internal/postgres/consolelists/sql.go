package consolelists

import (
	"embed"

	"github.com/servery-hub/servery/core/internal/postgres"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)
