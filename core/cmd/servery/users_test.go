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
	require.Equal(t, "admin", created.Role, "without --role an existing user keeps the role")
	require.NotContains(t, first.stdout, created.Link)
	for _, wrong := range [][]string{{"--email", "sam"},
		{"--email", "a@example.com", "--base-url", "https://hub.example.com/?a=b"},
		{"--email", "a@example.com", "--role", "boss"}, {"--email", "a@example.com", "--business", "999"}} {
		require.Equal(t, 1, servery(t, env, append([]string{"user", "create"}, wrong...)...).status, wrong)
	}
}

func TestUserCreateExtendsAnExistingUser(t *testing.T) {
	env := environment{"SERVERY_DATABASE_URL": hubtest.DatabaseURL(t), "SERVERY_SECRET_KEY": hubtest.SecretKey}
	create := func(args ...string) string {
		r := servery(t, env, append([]string{"user", "create", "--email", "kim@example.com"}, args...)...)
		require.Equal(t, 0, r.status, r.stderr)
		return r.stdout
	}
	var ids []string
	for _, name := range []string{"One", "Two"} {
		r := servery(t, env, "business", "create", "--name", name, "--country", "IN", "--currency", "INR",
			"--timezone", "Asia/Kolkata", "--json")
		require.Equal(t, 0, r.status, r.stderr)
		ids = append(ids, regexp.MustCompile(`"id": ?(\d+)`).FindStringSubmatch(r.stdout)[1])
	}
	require.Contains(t, create(), "support, no business yet: repeat with --business ID\ncreated\n")
	require.Contains(t, create("--business", ids[1]), "support, businesses "+ids[1]+"\nchanged\n")
	require.Contains(t, create("--business", ids[0]), "support, businesses "+ids[0]+" "+ids[1]+"\nchanged\n")
	require.Contains(t, create("--business", ids[0]), "\nexists already, unchanged\n")
	require.Contains(t, create("--role", "viewer"), "viewer, businesses "+ids[0]+" "+ids[1]+"\nchanged\n")
	require.Contains(t, create("--role", "admin"), "admin, all businesses\nchanged\n")
	require.Contains(t, create(), "admin, all businesses\nexists already, unchanged\n")
	wrong := servery(t, env, "user", "create", "--email", "kim@example.com", "--role", "viewer", "--business", "999")
	require.Equal(t, 1, wrong.status)
	require.Contains(t, wrong.stderr, "does not exist")
	require.Contains(t, create(), "admin, all businesses\nexists already, unchanged\n",
		"a failed change changes nothing")
}
