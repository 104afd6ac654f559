package assets_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/assets"
)

func get(t *testing.T, path, encoding string) *http.Response {
	t.Helper()
	app := fiber.New()
	assets.Mount(app)
	request := httptest.NewRequest(http.MethodGet, path, nil)
	request.Header.Set("Accept-Encoding", encoding)
	response, err := app.Test(request, -1)
	require.NoError(t, err)
	return response
}

func TestAssetsAreCachedForever(t *testing.T) {
	for name, media := range map[string]string{
		"app.css": "text/css; charset=utf-8", "app.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
		"htmx.js": "text/javascript; charset=utf-8",
	} {
		response := get(t, assets.URL(name), "identity")
		require.Equal(t, http.StatusOK, response.StatusCode, name)
		assert.Equal(t, media, response.Header.Get("Content-Type"))
		assert.Equal(t, "public, max-age=31536000, immutable", response.Header.Get("Cache-Control"))
		assert.Equal(t, "nosniff", response.Header.Get("X-Content-Type-Options"))
		plain, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		assert.NotEmpty(t, plain)

		response = get(t, assets.URL(name), "gzip, br")
		reader, err := gzip.NewReader(response.Body)
		require.NoError(t, err)
		unpacked, err := io.ReadAll(reader)
		require.NoError(t, err)
		assert.Equal(t, plain, unpacked)
	}
}

func TestAssetURLOfAnotherVersionIsNotCached(t *testing.T) {
	response := get(t, "/assets/000000000000/app.css", "")
	assert.Equal(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, "no-cache", response.Header.Get("Cache-Control"))
}

func TestAssetsAreSmall(t *testing.T) {
	total := int64(0)
	for _, name := range []string{"app.css", "app.js", "htmx.js", "icon.svg"} {
		n, err := io.Copy(io.Discard, get(t, assets.URL(name), "gzip").Body)
		require.NoError(t, err)
		total += n
	}
	assert.Less(t, total, int64(120<<10), "bytes, packed")
}

func TestUnknownAssetIsNotFound(t *testing.T) {
	assert.Empty(t, assets.URL("other.css"))
	assert.Equal(t, http.StatusNotFound, get(t, "/assets/000000000000/other.css", "").StatusCode)
}
