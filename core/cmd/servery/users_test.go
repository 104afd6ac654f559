package main

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestUserCreatePrintsALinkEachTime(t *testing.T) {
	env := environment{"SERVERY_DATABASE_URL": hubtest.DatabaseURL(t), "SERVERY_SECRET_KEY": hubtest.SecretKey,
		"SERVERY_BASE_URL": "https://hub.example.com/"}
	first := servery(t, env, "user", "create", "--email", "Sam@example.com", "--role", "admin")
	require.Equal(t, 0, first.status, first.stderr)
	link := regexp.MustCompile(`https://hub\.example\.com/console/welcome/\?link=[A-Za-z0-9_-]{43}\n`)
	require.Regexp(t, link, first.stdout)
	second := servery(t, env, "user", "create", "--email", "sam@example.com", "--json")
	require.Equal(t, 0, second.status, second.stderr)
	var created struct{ Email, Role, Link string }
	require.NoError(t, json.Unmarshal([]byte(second.stdout), &created))
	require.Equal(t, "sam@example.com", created.Email)
	require.Equal(t, "admin", created.Role, "who is there stays as they are")
	require.NotContains(t, first.stdout, created.Link)
	for _, wrong := range [][]string{{"--email", "sam"},
		{"--email", "a@example.com", "--base-url", "https://hub.example.com/?a=b"},
		{"--email", "a@example.com", "--role", "boss"}, {"--email", "a@example.com", "--business", "999"}} {
		require.Equal(t, 1, servery(t, env, append([]string{"user", "create"}, wrong...)...).status, wrong)
	}
}
