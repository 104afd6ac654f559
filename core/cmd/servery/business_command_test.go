package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestBusinessSetSaysHowABusinessIsWatchedOver(t *testing.T) {
	env := environment{"SERVERY_DATABASE_URL": hubtest.DatabaseURL(t), "SERVERY_SECRET_KEY": hubtest.SecretKey}
	made := servery(t, env, "business", "create", "--name", "Tasty", "--country", "US", "--timezone", "America/Chicago", "--currency", "USD", "--json")
	require.Equal(t, 0, made.status, made.stderr)
	set := func(flags ...string) ended {
		return servery(t, env, append([]string{"business", "set", "--business", "1"}, flags...)...)
	}
	told := func(flags ...string) string {
		r := set(append(flags, "--json")...)
		require.Equal(t, 0, r.status, r.stderr)
		return r.stdout
	}
	require.JSONEq(t, `{"acknowledge-within":"hub","pos-silent-after":"hub","close-silent-stores":false}`, told())
	require.JSONEq(t, `{"acknowledge-within":"5m","pos-silent-after":"15m","close-silent-stores":true}`, told("--acknowledge-within", "5m", "--pos-silent-after", "15m", "--close-silent-stores"))
	require.JSONEq(t, `{"acknowledge-within":"5m","pos-silent-after":"hub","close-silent-stores":true}`, told("--pos-silent-after", "hub"), "what is not given stays")
	require.JSONEq(t, `{"acknowledge-within":"5m","pos-silent-after":"hub","close-silent-stores":false}`, told("--no-close-silent-stores"))
	require.Equal(t, "business 1: orders are escalated after 5m, a POS is silent after hub, stores are closed while it is: false\n", set().stdout)
	wrong := set("--acknowledge-within", "soon")
	require.Equal(t, 1, wrong.status)
	require.Contains(t, wrong.stderr, "acknowledge-within must be")
	for _, flags := range [][]string{nil, {"--close-silent-stores"}} {
		r := servery(t, env, append([]string{"business", "set", "--business", "9"}, flags...)...)
		require.Equal(t, 1, r.status)
		require.Contains(t, r.stderr, "no business")
	}
}
