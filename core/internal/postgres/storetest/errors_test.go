package storetest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
)

func TestDataErrorsAreRecognized(t *testing.T) {
	db := hubtest.Database(t, nil)
	for statement, want := range map[string]bool{"SELECT 1/0": true, "SELECT 'x'::jsonb": true,
		"SELECT nothing": false} {
		_, err := db.Bun().ExecContext(t.Context(), statement)
		require.Error(t, err)
		require.Equal(t, want, postgres.IsDataError(err), statement)
	}
	require.False(t, postgres.IsDataError(pgdriver.Error{}), "an error of a pooler may have no code")
	require.False(t, postgres.IsDataError(errors.New("x")))
	require.False(t, postgres.IsDataError(nil))
}
