package outbox

import (
	"embed"

	"github.com/servery-hub/servery/core/internal/postgres"
)

//go:embed *.sql
var files embed.FS

// queries are the statements of this package.
var queries = postgres.MustLoadQueries(files)

// Parts returns the statements that store events and deliveries. A statement that also stores something else includes
// them, see Batch.Into.
func Parts() postgres.Queries { return queries }
