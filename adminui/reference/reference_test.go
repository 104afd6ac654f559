package reference_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/assets"
	"github.com/servery-hub/servery/adminui/internal/browsertest"
	"github.com/servery-hub/servery/adminui/reference"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/web"
)

func app(t *testing.T) *fiber.App {
	t.Helper()
	app := newApp(reference.Config{
		OpenAPI: web.OpenAPI(), BaseURL: "http://127.0.0.1:8080",
		Links: []ui.Link{{Href: "/docs", Label: "Reference"}, {Href: "/demo/receiver/", Label: "Demo receiver"}},
	})
	assets.Mount(app)
	return app
}

func newApp(config reference.Config) *fiber.App {
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	reference.Mount(app, func() (*reference.Reference, error) { return reference.New(config) })
	return app
}

func get(t *testing.T, app *fiber.App, path string, headers ...string) (*http.Response, string) {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := app.Test(request, -1)
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(body)
}

func TestPageListsEveryOperation(t *testing.T) {
	response, page := get(t, app(t), "/docs")
	require.Equal(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, ui.ContentSecurityPolicy, response.Header.Get("Content-Security-Policy"))
	assert.Equal(t, "text/html; charset=utf-8", response.Header.Get("Content-Type"))
	var document struct {
		Paths, Webhooks map[string]map[string]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(web.OpenAPI(), &document))
	for _, paths := range []map[string]map[string]json.RawMessage{document.Paths, document.Webhooks} {
		for path, operations := range paths {
			assert.Contains(t, page, "<code>"+path+"</code>")
			for method, raw := range operations {
				var operation struct{ OperationID string }
				if method == "parameters" {
					continue
				}
				require.NoError(t, json.Unmarshal(raw, &operation))
				assert.Contains(t, page, `id="`+operation.OperationID+`"`)
				assert.Contains(t, page, `href="#`+operation.OperationID+`"`, "the navigation names it")
			}
		}
	}
	for _, part := range []string{
		"curl -X POST http://127.0.0.1:8080/external/api/v1/stores/",
		"Authorization: apikey USERNAME:API_KEY",
		`<span class="fields-parent">stores[].timings[].slots[].</span><wbr>start_time`,
		"20 in a minute for the business",
		"webhook-signature: v1,",
		"X-Event-Type: hub_menu_publish",
		"webhooks subscribed to <code>order_placed</code>, also by its number <code>18</code>",
		`<span class="fields-parent">order.details.ext_platforms[].</span><wbr>delivery_type`,
		"http://127.0.0.1:8080/external/api/v1/stores/?limit=2&amp;after=S-17",
	} {
		assert.Contains(t, page, part)
	}
	seen := map[string]bool{}
	for _, id := range regexp.MustCompile(` id="[^"]*"`).FindAllString(page, -1) {
		assert.False(t, seen[id], "%s is not unique", id)
		seen[id] = true
	}
	assert.Greater(t, len(seen), 100)
	assert.NotContains(t, page, " style=")
	assert.NotContains(t, page, "<style")
	assert.NotContains(t, page, "onclick")
}

func TestPageIsCachedByETag(t *testing.T) {
	app := app(t)
	first, page := get(t, app, "/docs")
	tag := first.Header.Get("ETag")
	require.NotEmpty(t, tag)
	second, body := get(t, app, "/docs/", "If-None-Match", tag)
	assert.Equal(t, http.StatusNotModified, second.StatusCode)
	assert.Empty(t, body)
	packed, body := get(t, app, "/docs", "Accept-Encoding", "gzip")
	assert.Equal(t, "gzip", packed.Header.Get("Content-Encoding"))
	reader, err := gzip.NewReader(strings.NewReader(body))
	require.NoError(t, err)
	unpacked, err := io.ReadAll(reader)
	require.NoError(t, err)
	assert.Equal(t, page, string(unpacked))
}

func TestDescriptionIsEscaped(t *testing.T) {
	const attack = `<script>alert(1)</script>`
	document, err := json.Marshal(map[string]any{
		"info": map[string]any{"title": attack,
			"description": "- `" + attack + "`\n- " + attack + "\n\n```\n" + attack + "\n```"},
		"tags": []any{map[string]any{"name": attack, "description": attack}},
	})
	require.NoError(t, err)
	_, body := get(t, newApp(reference.Config{OpenAPI: document}), "/docs")
	assert.NotContains(t, body, "<script>")
	assert.Equal(t, 8, strings.Count(body, "&lt;script&gt;alert(1)&lt;/script&gt;"))
}

func TestNewRejectsInvalidDocuments(t *testing.T) {
	for _, document := range []string{
		`no JSON`,
		`{"paths": []}`,
		`{"paths": {"/a": {"get": {"parameters": [{"$ref": "#/components/parameters/None"}]}}}}`,
		`{"paths": {"/a": {"get": {"responses": {"200": {"$ref": "#/components/responses/None"}}}}}}`,
		`{"paths": {"/a": {"post": {"requestBody": {"content": {"a/b": {"schema": {"$ref": ` +
			`"#/components/schemas/Loop"}}}}}}},
		  "components": {"schemas": {"Loop": {"$ref": "#/components/schemas/Loop"}}}}`,
	} {
		_, err := reference.New(reference.Config{OpenAPI: []byte(document)})
		assert.Error(t, err, document)
	}
}

func TestRecursiveSchemaIsListedOnce(t *testing.T) {
	app := newApp(reference.Config{OpenAPI: []byte(`{"tags": [{"name": "T"}],
		"paths": {"/a": {"post": {"tags": ["T"],` +
		` "requestBody": {"content": {"a/b": {"schema": {"$ref": "#/components/schemas/Tree"}}}}}}},
		"components": {"schemas": {"Tree": {"properties": {
			"name": {"type": "string"}, "leaves": {"type": "array", "items": {"$ref": "#/components/schemas/Leaf"}},
			"left": {"$ref": "#/components/schemas/Tree"},
			"by_name": {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Leaf"}}}},
			"Leaf": {"type": "object", "properties": {"colour": {"type": "string"}}}}}}`)})
	_, body := get(t, app, "/docs")
	assert.Equal(t, 1, strings.Count(body, ">colour<"))
	assert.Contains(t, body, "array of objects")
	assert.Contains(t, body, "object of objects")
	assert.Contains(t, body, "parts as in <code>leaves[]</code>")
}

// keepOperations removes the operations that a selector does not select.
func keepOperations(t *testing.T, page *browsertest.Page, selector string) {
	t.Helper()
	browsertest.Eval[bool](t, page,
		`document.querySelectorAll(".operation:not(`+selector+`)").forEach((one) => one.remove()), true`)
	assert.Equal(t, strings.Count(selector, "#"),
		browsertest.Eval[int](t, page, `document.querySelectorAll(".operation").length`))
}

func TestPagePassesBrowserChecks(t *testing.T) {
	browser := browsertest.Start(t)
	base := browsertest.Serve(t, app(t))
	page := browser.Open(t, base+"/docs", browsertest.Views()[0])
	blocks := browsertest.Eval[int](t, page, `document.querySelectorAll("figure.code").length`)
	assert.Positive(t, blocks)
	assert.Equal(t, blocks, browsertest.Eval[int](t, page, `document.querySelectorAll("figure.code button").length`),
		"buttons to copy")
	for _, view := range browsertest.Views() {
		page.SetView(t, view)
		page.Screenshot(t, "docs-"+view.Name)
		page.CheckLayout(t)
	}
	// axe reads the whole page for each check, and most operations are alike.
	keepOperations(t, page, "#postStores, #getStore, #getOrder, #postItemsOOS, #orderPlaced, #metrics")
	page.SetView(t, browsertest.Views()[0])
	page.CheckLong(t, "#postStores")
	keepOperations(t, page, "#postStores")
	for _, view := range browsertest.Views()[1:] {
		t.Run(view.Name+" operation", func(t *testing.T) {
			page.SetView(t, view)
			page.CheckPart(t, "#postStores")
		})
	}
	page.Close()
	t.Run("without script", func(t *testing.T) {
		page := browser.Open(t, base+"/docs", browsertest.View{Width: 390, Height: 844, NoScript: true})
		page.Do(t,
			chromedp.Click(chromedp.CSS(".contents-open")),
			chromedp.WaitVisible(chromedp.CSS(`.contents a[href="#postStores"]`)),
			chromedp.Click(chromedp.CSS(`.contents a[href="#postStores"]`)),
			chromedp.WaitVisible(chromedp.CSS("#postStores-title")),
		)
		assert.Empty(t, page.Problems())
	})
	t.Run("contents on a narrow screen", func(t *testing.T) {
		page := browser.Open(t, base+"/docs", browsertest.Views()[3])
		page.Do(t, chromedp.Click(chromedp.CSS(".contents-open")),
			chromedp.WaitVisible(chromedp.CSS(`.contents a[href="#getStore"]`)))
		require.Regexp(t, `^rgb\(`,
			browsertest.Eval[string](t, page, `getComputedStyle(document.querySelector(".contents")).backgroundColor`))
		keepOperations(t, page, "#getStore")
		// Hidden, because axe checks the contrast with everything behind each word.
		browsertest.Eval[bool](t, page, `document.querySelector("main").hidden = true`)
		page.CheckPart(t, ".contents")
		browsertest.Eval[bool](t, page, `document.querySelector("main").hidden = false`)
		page.Screenshot(t, "docs-contents")
		page.Do(t,
			chromedp.Click(chromedp.CSS(`.contents a[href="#getStore"]`)),
			chromedp.WaitNotVisible(chromedp.CSS(".contents")),
		)
	})
}
