package adminui_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
)

// sampleIDs returns ids of the full hub by the path before them. The empty hub has no such pages.
func sampleIDs(f *fake) map[string]string {
	if len(f.endpoints) == 0 {
		return nil
	}
	return map[string]string{
		"audit/": f.audit[0].ID.String(), "plugins/": "aggregator-a", "users/": "2",
		"b/7/audit/": f.audit[0].ID.String(), "b/7/calls/": f.calls[1].ID.String(),
		"b/7/customers/": "phone-00000000000000ff", "b/7/deliveries/": f.deliveries[1].ID.String(),
		"b/7/history/": revisionIDs[0].String(), "b/7/items/": "501", "b/7/jobs/": f.jobs[0].Reference.String(),
		"b/7/orders/": "10412", "b/7/problems/": "31", "b/7/stores/": "1040", "b/7/webhooks/": "3",
	}
}

// requiredQueries are the queries of pages that are not found without one.
var requiredQueries = map[string]string{
	"b/7/settings/platform/": "?name=tasty-eats", "b/7/settings/login/": "?name=tasty-eats&credential=partner",
	"b/7/stores/1040/menu/":                                "?platform=aggregator-a",
	"b/7/stores/1040/menu/diff/":                           "?platform=aggregator-a",
	"b/7/stores/1040/menu/body/sent":                       "?platform=aggregator-a",
	"b/7/history/" + revisionIDs[0].String() + "/diff/":    "?at=1",
	"b/7/history/" + revisionIDs[0].String() + "/restore/": "?at=0",
}

// routePath fills in the parameters of a route and returns its path below the root. ok is false if the hub has no
// such object.
func routePath(t *testing.T, f *fake, route string) (address string, ok bool) {
	t.Helper()
	at, found := strings.CutPrefix(strings.ReplaceAll(route, ":business", "7"), shell.Root)
	require.True(t, found, route)
	known := sampleIDs(f)
	if before, rest, ofOne := strings.Cut(at, ":"); ofOne {
		if known == nil {
			return "", false
		}
		require.NotEmpty(t, known[before], "sampleIDs has no id for %s", route)
		_, after, _ := strings.Cut(rest, "/")
		at = before + known[before] + "/" + after
		switch before {
		case "b/7/orders/":
			at = strings.Replace(at, ":key", "payload", 1)
		case "b/7/deliveries/":
			at = strings.Replace(at, ":attempt", "1", 1)
		case "b/7/calls/":
			at = strings.Replace(at, ":key", "call-"+f.calls[1].ID.String()+"-1-request", 1)
		case "b/7/stores/":
			at = strings.Replace(at, "menu/body/:key", "menu/body/sent", 1)
			at = strings.Replace(at, ":key", "call-"+f.storeCalls[0].ID.String()+"-1-request", 1)
		}
	}
	return at + requiredQueries[at], requiredQueries[at] == "" || known != nil
}

// allPages returns the paths of all pages by name, some in several states.
func allPages(t *testing.T, f *fake) map[string]string {
	t.Helper()
	pages := map[string]string{"search-found": "search/?q=a"}
	for _, page := range newConsole(f).Pages() {
		for _, r := range page.Routes {
			isFile, isStream := !strings.HasSuffix(r.Path, "/"), strings.HasPrefix(r.Path, shell.LivePath)
			if r.Method != http.MethodGet || isFile || isStream {
				continue
			}
			if at, ok := routePath(t, f, r.Path); ok {
				name := strings.Trim(strings.TrimPrefix(r.Path, shell.Root), "/")
				pages[strings.NewReplacer("b/:business", "business", ":", "", "/", "-").Replace(name)] = at
			}
		}
	}
	if len(f.endpoints) > 0 {
		for name, at := range extraPages(f) {
			pages[name] = at
		}
	}
	return pages
}

// extraPages returns further states of pages of the full hub.
func extraPages(f *fake) map[string]string {
	job := func(n int) string { return "b/7/jobs/" + f.jobs[n].Reference.String() + "/" }
	revision := func(n int) string { return "b/7/history/" + revisionIDs[n].String() + "/" }
	return map[string]string{
		"webhook-gone":         "b/7/webhooks/5/",
		"delivery-callback":    fmt.Sprintf("b/7/deliveries/%s/", f.deliveries[4].ID),
		"resend":               "b/7/deliveries/resend/?webhook=3",
		"deliveries-searched":  "b/7/deliveries/?text=503",
		"deliveries-columns":   "b/7/deliveries/?of=failed&sort=failed&cols=state.finished.status.url.problem.event.id",
		"calls-none":           "b/7/calls/?text=nothing+of+it",
		"call-store":           "b/7/calls/" + f.storeCalls[0].ID.String() + "/",
		"job-running":          job(1),
		"job-failed":           job(2),
		"store-hostile":        "b/7/stores/1041/",
		"store-menu-none":      "b/7/stores/1040/menu/?platform=web",
		"item-platform":        "b/7/items/501/?platform=aggregator-a",
		"revision-rollback":    revision(1),
		"revision-switch":      revision(2),
		"revision-more":        revision(2) + "?from=25",
		"rollback":             revision(1) + "rollback/",
		"history-item-then":    "b/7/history/item/?item=dal&store=S-17&platform=web&at=2026-11-20T14:30",
		"history-item-none":    "b/7/history/item/?item=dal&store=none&platform=web",
		"order-hostile":        "b/7/orders/10410/",
		"order-unacknowledged": "b/7/orders/10411/",
		"problem-resolved":     "b/7/problems/32/",
		"problems-any":         "problems/?state=any",
		"plugin-failed":        "plugins/aggregator-c/",
		"plugin-new":           "plugins/aggregator-d/",
		"platform-hostile":     "b/7/settings/platform/?name=" + url.QueryEscape(hostile),
		"platform-own":         "b/7/settings/platform/?name=web",
		"missing":              "b/7/nothing/",
	}
}

// eachPageFile calls visit for each Go file of the page folders.
func eachPageFile(t *testing.T, visit func(folder string, file *ast.File)) {
	t.Helper()
	files, err := filepath.Glob("*/*.go")
	require.NoError(t, err)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		visit(path.Dir(filepath.ToSlash(file)), parsed)
	}
}

// TestEveryPageFolderIsRegistered compares the page descriptors in the folders with the pages that the console
// serves.
func TestEveryPageFolderIsRegistered(t *testing.T) {
	described, served := map[string]int{}, map[string]int{}
	eachPageFile(t, func(folder string, file *ast.File) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && describesPage(f) {
				described[folder]++
			}
		}
	})
	for _, page := range newConsole(fullHub()).Pages() {
		require.NotEmpty(t, page.Routes, page.Path)
		handler := runtime.FuncForPC(reflect.ValueOf(page.Routes[0].Handle).Pointer()).Name()
		folder, _, _ := strings.Cut(path.Base(handler), ".")
		served[folder]++
	}
	assert.Equal(t, described, served, "pages() in adminui.go lists each page of each folder")
}

func TestEveryActionHasAMessage(t *testing.T) {
	pages, calls := newConsole(fullHub()).Pages(), 0
	eachPageFile(t, func(_ string, file *ast.File) {
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) != 3 {
				return true
			}
			function, ok := call.Fun.(*ast.SelectorExpr)
			keyword, literal := call.Args[2].(*ast.BasicLit)
			if ok && literal && function.Sel.Name == "RedirectDone" {
				assertMessage(t, pages, strings.Trim(keyword.Value, `"`))
				calls++
			}
			return true
		})
	})
	assert.Greater(t, calls, 10, "calls of shell.RedirectDone")
}

// describesPage reports whether a function returns a page descriptor.
func describesPage(f *ast.FuncDecl) bool {
	if !f.Name.IsExported() || f.Type.Results == nil || len(f.Type.Results.List) != 1 {
		return false
	}
	switch result := f.Type.Results.List[0].Type.(type) {
	case *ast.SelectorExpr:
		return result.Sel.Name == "Page"
	case *ast.Ident: // in package shell
		return result.Name == "Page"
	}
	return false
}

func TestEveryRouteChecksTheRole(t *testing.T) {
	f := fullHub()
	for _, role := range access.Roles() {
		f.users = append(f.users, access.User{ID: int64(10 + len(f.users)), Email: string(role) + "@example.com",
			Role: role, Businesses: []core.BusinessID{7}})
	}
	base, pages := serveConsole(t, f), newConsole(f).Pages()
	for _, role := range append(access.Roles(), "") {
		client := clientOf(t, base, role)
		for _, page := range pages {
			for _, r := range page.Routes {
				name := fmt.Sprintf("%q: %s %s", role, r.Method, r.Path)
				require.Contains(t, access.Roles(), r.Role, name)
				response := requestRoute(t, client, f, base, r)
				to, _ := url.Parse(response.Header.Get("Location"))
				switch {
				case role == "":
					assert.Equal(t, shell.SignInPath, to.Path, name)
				case !role.AtLeast(r.Role):
					assert.Equal(t, http.StatusForbidden, response.StatusCode, name)
				case r.Method == http.MethodGet && to.Query().Has("done"): // it finishes what an earlier page began
					assertMessage(t, pages, to.Query().Get("done"))
				case r.Method == http.MethodGet:
					assert.Equal(t, http.StatusOK, response.StatusCode, name)
				case r.Path == shell.SignOutPath:
					client = clientOf(t, base, role)
				default:
					assert.NotContains(t, []int{http.StatusForbidden, http.StatusInternalServerError},
						response.StatusCode, name)
					assertMessage(t, pages, to.Query().Get("done"))
				}
			}
		}
	}
}

// clientOf returns a client signed in with the role; "": not signed in.
func clientOf(t *testing.T, base string, role access.Role) *http.Client {
	t.Helper()
	client := &http.Client{}
	if role != "" {
		client = signedInClient(t, base, string(role)+"@example.com")
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

// assertMessage checks that exactly one page has a message for a keyword.
func assertMessage(t *testing.T, pages []shell.Page, keyword string) {
	t.Helper()
	var messages []string
	for _, page := range pages {
		if message := page.Done[keyword]; message != "" {
			messages = append(messages, message)
		}
	}
	if keyword != "" {
		assert.Len(t, messages, 1, "pages with a message for done=%s", keyword)
	}
}

// requestRoute requests a route like a browser. A form has only a token and a reason.
func requestRoute(t *testing.T, client *http.Client, f *fake, base string, r shell.Route) *http.Response {
	t.Helper()
	at, ok := routePath(t, f, r.Path)
	require.True(t, ok, r.Path)
	request, err := http.NewRequest(r.Method, base+shell.Root+at, nil)
	require.NoError(t, err)
	if r.Method == http.MethodGet {
		response, err := client.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response
	}
	token := ""
	if client.Jar != nil {
		for _, cookie := range client.Jar.Cookies(request.URL) {
			if cookie.Name == "servery" {
				token = access.FormToken(cookie.Value)
			}
		}
	}
	response, _ := postForm(t, client, base+shell.Root, request.URL.String(),
		url.Values{"token": {token}, "why": {"To see who may."}})
	return response
}
