package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestStatementsArePreparedOncePerConnection(t *testing.T) {
	db := hubtest.Database(t, clocktest.New())
	p := db.PreparedStatements(t)
	require.Equal(t, 42, p.Ask(42), "prepared")
	require.Equal(t, `quoted '? \`, p.AskText(`quoted '? \`), "arguments are written as elsewhere")
	require.Equal(t, 2, p.Prepared())
	require.Equal(t, 43, p.Ask(43))
	require.Equal(t, 2, p.Prepared())
	p.Pool()
	require.Equal(t, 44, p.Ask(44))
	require.Equal(t, 2, p.Prepared(), "the connection came back from the pool")
	p.Reconnect()
	require.Equal(t, 45, p.Ask(45), "another connection")
	require.Equal(t, 3, p.Prepared())
}

func TestStatementWorksAgainAfterAFailedPreparation(t *testing.T) {
	db := hubtest.Database(t, clocktest.New())
	p := db.PreparedStatements(t)
	_, err := p.AskTable("heaps")
	require.ErrorContains(t, err, "preparing rows_of_heaps")
	p.Pool()
	p.Do("CREATE TABLE heaps (n integer)")
	rows, err := p.AskTable("heaps")
	require.NoError(t, err)
	require.Zero(t, rows)
}
