package ui_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
)

func TestSizeUsesBinaryUnits(t *testing.T) {
	for bytes, want := range map[int]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB",
		3 << 20: "3.0 MiB"} {
		assert.Equal(t, want, ui.Size(bytes))
	}
}

func served(t *testing.T, component templ.Component) (*http.Response, string) {
	t.Helper()
	app := fiber.New()
	app.Get("/", func(c *fiber.Ctx) error { return ui.Write(c, http.StatusTeapot, component) })
	response, err := app.Test(httptest.NewRequest(http.MethodGet, "/", nil), -1)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(body)
}

func TestWriteSecuresThePage(t *testing.T) {
	response, body := served(t, ui.Badge(ui.OK, "<fine>"))
	assert.Equal(t, http.StatusTeapot, response.StatusCode)
	assert.Contains(t, body, "&lt;fine&gt;")
	assert.Equal(t, "no-store", response.Header.Get("Cache-Control"))
	assert.Equal(t, ui.ContentSecurityPolicy, response.Header.Get("Content-Security-Policy"))
	assert.NotContains(t, ui.ContentSecurityPolicy, "unsafe")
}

func TestWriteSendsNothingOfAFailedPage(t *testing.T) {
	response, body := served(t, templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := io.WriteString(w, "half a page")
		return errors.Join(err, errors.New("broken"))
	}))
	assert.Equal(t, http.StatusInternalServerError, response.StatusCode)
	assert.NotContains(t, body, "half a page")
}
