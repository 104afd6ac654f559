package reference_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFormerGuidesRedirectToTheirSuccessors(t *testing.T) {
	app := app(t)
	for _, path := range []string{"/docs/decisions", "/docs/decisions/"} {
		response, _ := get(t, app, path)
		require.Equal(t, http.StatusMovedPermanently, response.StatusCode, path)
		target := response.Header.Get("Location")
		require.Equal(t, "/docs/behaviour", target, path)
		response, body := get(t, app, target)
		require.Equal(t, http.StatusOK, response.StatusCode, path)
		require.Contains(t, body, "Behaviour in detail", path)
	}
}
