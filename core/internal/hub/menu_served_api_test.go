package hub

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/servery-hub/servery/core/internal/plugindir"
	"github.com/stretchr/testify/require"
)

// get fetches a menu as the marketplace does.
func (m *marketClient) get(path string, headers map[string]string) apiResponse {
	m.t.Helper()
	sent := httptest.NewRequest(http.MethodGet, path, nil)
	for name, value := range headers {
		sent.Header.Set(name, value)
	}
	response, err := m.hub.server.App.Test(sent, -1)
	require.NoError(m.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(m.t, err)
	return apiResponse{status: response.StatusCode, header: response.Header, text: string(text)}
}

// newMenuFetcher is a marketplace that fetches the menu of store s1, which it knows as 77.
func newMenuFetcher(t *testing.T) *marketClient {
	t.Helper()
	m := newMarketClient(t)
	m.ok("POST", storesRoute+"?wait=10",
		`{"stores":[{"ref_id":"s1","platform_data":[{"name":"bazaar","platform_store_id":"77"}]}]}`)
	return m
}

var fetchHeaders = map[string]string{"Authorization": "Bearer feedkeyvalue"}

// menuPath is the URL of the menu of a store.
func (m *marketClient) menuPath(store string) string {
	return fmt.Sprintf("/channel/api/v1/bazaar/callback/menu/%s/?business=%d", store, m.tenant.ID)
}

func TestMarketplaceFetchesMenuOfStore(t *testing.T) {
	m := newMenuFetcher(t)
	const served = `{"store":"77","items":{"dal":"9.5"}}`
	got := m.get(m.menuPath("77"), fetchHeaders)
	require.Equal(t, []any{200, served, "application/json"},
		[]any{got.status, got.text, got.header.Get("Content-Type")})
	tag := got.header.Get("ETag")
	require.NotEmpty(t, tag)
	known := map[string]string{"Authorization": "Bearer feedkeyvalue", "If-None-Match": `"other", W/` + tag}
	again := m.get(m.menuPath("77"), known)
	require.Equal(t, []any{304, "", tag}, []any{again.status, again.text, again.header.Get("ETag")})
	m.ok("POST", menuRoute+"s1/?wait=10", `{"items":[{"ref_id":"dal","price":8}]}`)
	changed := m.get(m.menuPath("77"), known)
	require.Equal(t, 200, changed.status)
	require.Contains(t, changed.text, `"dal":"8"`)

	require.Equal(t, 401, m.get(m.menuPath("77"), map[string]string{"Authorization": "Bearer other"}).status)
	require.Equal(t, 401, m.get(m.menuPath("77"), nil).status)
	require.Equal(t, 404, m.get(m.menuPath("78"), fetchHeaders).status)
	large := m.get(m.menuPath("77")+"&size=large", fetchHeaders)
	require.Equal(t, 500, large.status, "the body is above the limit")
	require.Equal(t, 405, m.post(m.menuPath("77"), "application/json", "{}", fetchHeaders).status)
	m.ok("POST", storesRoute+"?wait=10", `{"stores":[{"ref_id":"s1","excluded_platforms":["bazaar"]}]}`)
	unlisted := m.get(m.menuPath("77"), fetchHeaders)
	require.Equal(t, 404, unlisted.status)
	require.Contains(t, unlisted.text, "does not list the store")
}

func TestFetchedMenuIsVerifiedBySignature(t *testing.T) {
	m := newMenuFetcher(t)
	const path = "/channel/api/v1/bazaar/callback/signed-menu/"
	mac := hmac.New(sha256.New, []byte("s3cret"))
	fmt.Fprintf(mac, "GET %s 77", path)
	signed := map[string]string{"X-Market-Signature": hex.EncodeToString(mac.Sum(nil))}
	query := fmt.Sprintf("?business=%d&store=", m.tenant.ID)
	got := m.get(path+query+"77", signed)
	require.Equal(t, 200, got.status, got.text)
	require.Contains(t, got.text, `"store":"77"`)
	require.Equal(t, 401, m.get(path+query+"78", signed).status)
	require.Equal(t, 404, m.get(m.path("feed")+"&key=feedkeyvalue&store=77", nil).status, "this kind is no menu")
}

func TestSharedURLServesMenuOfAnyBusiness(t *testing.T) {
	m := newMenuFetcher(t)
	require.NoError(t, m.hub.config.Host.Refresh(t.Context(), false))
	_, err := plugindir.Dir{Path: t.TempDir(), DB: m.hub.db}.Shared(t.Context(), "market",
		map[string]string{"feed_key": "sharedkeyvalue"})
	require.NoError(t, err)
	const path = "/channel/api/v1/shared/market/callback/menu/"
	shared := map[string]string{"Authorization": "Bearer sharedkeyvalue"}
	got := m.get(path+"77/", shared)
	require.Equal(t, 200, got.status, got.text)
	require.Contains(t, got.text, `"store":"77"`)
	require.Equal(t, 401, m.get(path+"77/", fetchHeaders).status)
	require.Equal(t, 404, m.get(path+"78/", shared).status)
	require.Equal(t, 404, m.get(path, shared).status)
}
