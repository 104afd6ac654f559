package adminui_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
)

// repeatRows repeats a list until it exceeds a page.
func repeatRows[T any](list []T) (many []T) {
	for len(list) > 0 && len(many) <= shell.PageSize {
		many = append(many, list...)
	}
	return many
}

// adminClient returns a client signed in as an admin.
func adminClient(t *testing.T, base string) *http.Client {
	t.Helper()
	return signedInClient(t, base, "sam@example.com")
}

func signedInClient(t *testing.T, base, email string) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	client := &http.Client{Jar: jar}
	response, err := client.Get(base + sessionPath + "?email=" + url.QueryEscape(email))
	require.NoError(t, err)
	response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	return client
}

func TestNoPageIsLarge(t *testing.T) {
	f := fullHub()
	f.endpoints, f.jobs, f.deliveries, f.stores, f.items = repeatRows(f.endpoints), repeatRows(f.jobs),
		repeatRows(f.deliveries), repeatRows(f.stores), repeatRows(f.items)
	f.keys, f.users, f.audit, f.hits, f.orders = repeatRows(f.keys), repeatRows(f.users), repeatRows(f.audit),
		repeatRows(f.hits), repeatRows(f.orders)
	for i := range f.jobs {
		f.jobs[i].Request = []byte(strings.Repeat(`{"title":"`+long+`"} `, 10_000))
	}
	base := serveConsole(t, f)
	client := adminClient(t, base)
	for name, path := range allPages(t, f) {
		response, err := client.Get(base + shell.Root + path)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		require.NoError(t, err)
		assert.Contains(t, string(body), "console-body", "%s is behind the sign-in", name)
		assert.Less(t, len(body), 100<<10, "bytes of %s", name)
	}
}

func TestPagesReportAnUnavailableDatabase(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	f.broken = fmt.Errorf("reading: %w", context.DeadlineExceeded)
	for _, path := range []string{"", "b/7/", "b/7/jobs/", "welcome/?link=x"} {
		response, err := client.Get(base + shell.Root + path)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		require.NoError(t, err)
		assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode, path)
		assert.Contains(t, string(body), "<h1>The hub is unavailable</h1>", path)
		assert.Contains(t, string(body), "Its database does not respond. Nothing was lost. Retry in a moment.",
			path)
		assert.Contains(t, string(body), `href="/console/`+path, "it links to the same page")
		assert.NotContains(t, string(body), "The link does not work", path)
	}
}
