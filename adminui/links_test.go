package adminui_test

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/servery-hub/servery/adminui/shell"
)

// postedForm matches the URL of a form that is posted. pageLink matches the URL of a link, or of a form that is not.
var (
	postedForm = regexp.MustCompile(`<form[^>]*method="post"[^>]*action="([^"?#]+)`)
	pageLink   = regexp.MustCompile(`(?:href|method="get"[^>]*action)="(/console/[^"?#]*)`)
)

// unlinkedRoutes are routes that no sample page links to or shows a form for, with the reason.
var unlinkedRoutes = map[string]string{
	"plugins/:id/enable/":              "no sample plugin is disabled",
	"b/:business/orders/send/":         "every sample order has a receiver",
	"b/:business/orders/:id/send/":     "every sample order has a receiver",
	"b/:business/sandbox/":             "a scenario of the sample runs",
	"b/:business/settings/login/done/": "follows a login at an aggregator",
	"platform-login/":                  "an aggregator redirects to it",
}

// routePattern matches the URLs of a route.
func routePattern(path string) *regexp.Regexp {
	return regexp.MustCompile("^" + regexp.MustCompile(`:\w+`).ReplaceAllString(path, "[^/]+") + "$")
}

// TestLinksAndFormsMatchTheRoutes finds pages that no other links to, actions without a form, and links and
// forms to nowhere.
func TestLinksAndFormsMatchTheRoutes(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := adminClient(t, base)
	shown := map[string]map[string]string{http.MethodPost: {}, http.MethodGet: {}} // pages by method and URL
	for name, at := range allPages(t, f) {
		_, page := getPage(t, client, base+shell.Root+at)
		for method, pattern := range map[string]*regexp.Regexp{http.MethodPost: postedForm, http.MethodGet: pageLink} {
			for _, match := range pattern.FindAllStringSubmatch(page, -1) {
				own, _, _ := strings.Cut(shell.Root+at, "?")
				if method == http.MethodPost || match[1] != own {
					shown[method][match[1]] = name
				}
			}
		}
	}
	patterns := map[string][]*regexp.Regexp{}
	for _, page := range newConsole(f).Pages() {
		for _, r := range page.Public {
			patterns[r.Method] = append(patterns[r.Method], routePattern(r.Path))
		}
		for _, r := range page.Routes {
			patterns[r.Method] = append(patterns[r.Method], routePattern(r.Path))
			path := strings.TrimPrefix(r.Path, shell.Root)
			isFile, isStream := !strings.HasSuffix(r.Path, "/"), strings.HasPrefix(r.Path, shell.LivePath)
			if isFile || isStream || unlinkedRoutes[path] != "" || strings.Contains(path, "/views/") {
				continue // a saved view has its own tests
			}
			assert.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(shown[r.Method])),
				routePattern(r.Path).MatchString), "no page links to or has a form for %s %s", r.Method, path)
		}
	}
	for method, urls := range shown {
		for address, page := range urls {
			matches := func(p *regexp.Regexp) bool { return p.MatchString(address) }
			assert.True(t, slices.ContainsFunc(patterns[method], matches), "%s: no route %s %s", page, method, address)
		}
	}
}
