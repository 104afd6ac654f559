package hub

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/internal/hubtest"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/consolelists"
	"github.com/servery-hub/servery/core/internal/postgres/consoleview"
	"github.com/servery-hub/servery/core/internal/postgres/deliveries"
	"github.com/servery-hub/servery/core/internal/postgres/outbox"
	"github.com/servery-hub/servery/core/webhook"
)

const consolePassword = "correct horse battery"

// consoleHub returns a hub with a console and a real database.
func consoleHub(t *testing.T) *api {
	t.Helper()
	a := newAPI(t, func(c *Config) { c.Roles = append(c.Roles, RoleConsole) })
	a.hub.mountPages("http://example.com", 0)
	return a
}

// browser sends requests with the session and the form token of a user.
type browser struct {
	*api
	session string
}

// user creates a user and signs in with the one-time link.
func (a *api) user(t *testing.T, email string, role access.Role, businesses ...core.BusinessID) *browser {
	t.Helper()
	_, link, err := accessdb.NewAccounts(a.hub.db).CreateUser(context.Background(),
		access.User{Email: email, Role: role, Businesses: businesses}, "cli", "test")
	require.NoError(t, err)
	b := &browser{api: a}
	r := b.post(t, shell.WelcomePath, url.Values{"link": {link}, "password": {consolePassword}})
	require.Equal(t, http.StatusSeeOther, r.status, r.text)
	b.session = sessionOf(r)
	require.NotEmpty(t, b.session)
	return b
}

func sessionOf(r apiResponse) string {
	for _, line := range r.header.Values("Set-Cookie") {
		if value, found := strings.CutPrefix(line, "servery="); found {
			return strings.SplitN(value, ";", 2)[0]
		}
	}
	return ""
}

func (b *browser) send(t *testing.T, request *http.Request) apiResponse {
	t.Helper()
	if b.session != "" {
		request.AddCookie(&http.Cookie{Name: "servery", Value: b.session})
	}
	response, err := b.hub.server.App.Test(request, -1)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return apiResponse{status: response.StatusCode, header: response.Header, text: string(text)}
}

func (b *browser) get(t *testing.T, path string) apiResponse {
	t.Helper()
	return b.send(t, httptest.NewRequest(http.MethodGet, path, nil))
}

// form sends a form like a browser on a page of the console.
func (b *browser) form(path string, fields url.Values) *http.Request {
	if fields == nil {
		fields = url.Values{}
	}
	if fields.Get("token") == "" {
		fields.Set("token", access.FormToken(b.session))
	}
	request := httptest.NewRequest(http.MethodPost, path, strings.NewReader(fields.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	return request
}

func (b *browser) post(t *testing.T, path string, fields url.Values) apiResponse {
	t.Helper()
	return b.send(t, b.form(path, fields))
}

func withField(fields url.Values, name, value string) url.Values {
	fields.Set(name, value)
	return fields
}

func TestConsoleSignIn(t *testing.T) {
	a := consoleHub(t)
	sam := a.user(t, "sam@example.com", access.Admin)
	require.Equal(t, http.StatusOK, sam.get(t, shell.Root).status)

	stranger := &browser{api: a}
	r := stranger.get(t, shell.Root+"b/1/jobs/?state=failed")
	require.Equal(t, http.StatusSeeOther, r.status)
	require.Equal(t, shell.SignInPath+"?next="+url.QueryEscape(shell.Root+"b/1/jobs/?state=failed"),
		r.header.Get("Location"))

	t.Run("a wrong password and an unknown email look the same", func(t *testing.T) {
		wrong := stranger.post(t, shell.SignInPath, url.Values{"email": {"sam@example.com"}, "password": {"wrong"}})
		unknown := stranger.post(t, shell.SignInPath, url.Values{"email": {"kim@example.com"}, "password": {"wrong"}})
		require.Equal(t, http.StatusUnauthorized, wrong.status)
		require.Equal(t, strings.ReplaceAll(wrong.text, "sam@", "kim@"), unknown.text)
	})
	t.Run("signing in replaces the session", func(t *testing.T) {
		fixed := &browser{api: a, session: "chosen-by-an-attacker"}
		r := fixed.post(t, shell.SignInPath, url.Values{"email": {"Sam@Example.com"}, "password": {consolePassword}})
		require.Equal(t, http.StatusSeeOther, r.status)
		require.NotEqual(t, fixed.session, sessionOf(r))
		require.Equal(t, http.StatusSeeOther, fixed.get(t, shell.Root).status)
		again := &browser{api: a, session: sessionOf(r)}
		require.Equal(t, http.StatusOK, again.get(t, shell.Root).status)
		fresh := again.post(t, shell.SignInPath,
			url.Values{"email": {"sam@example.com"}, "password": {consolePassword}})
		require.Equal(t, http.StatusSeeOther, again.get(t, shell.Root).status, "the replaced session is worth nothing")
		require.NotEmpty(t, sessionOf(fresh))
	})
	t.Run("redirects stay within the console", func(t *testing.T) {
		for next, want := range map[string]string{"/console/b/1/": "/console/b/1/",
			"https://evil.example/console/": shell.Root, "//evil.example/console/": shell.Root,
			"/\\evil.example": shell.Root, "/docs": shell.Root} {
			r := (&browser{api: a}).post(t, shell.SignInPath,
				url.Values{"email": {"sam@example.com"}, "password": {consolePassword}, "next": {next}})
			require.Equal(t, want, r.header.Get("Location"), next)
		}
	})
	t.Run("attempts are throttled by account, also valid ones", func(t *testing.T) {
		for range 10 {
			stranger.post(t, shell.SignInPath, url.Values{"email": {"kim@example.com"}, "password": {"wrong"}})
		}
		require.Equal(t, http.StatusTooManyRequests,
			stranger.post(t, shell.SignInPath, url.Values{"email": {"kim@example.com"}, "password": {"x"}}).status)
		a.clock.Advance(16 * time.Minute)
		require.Equal(t, http.StatusUnauthorized,
			stranger.post(t, shell.SignInPath, url.Values{"email": {"kim@example.com"}, "password": {"x"}}).status)
	})
	t.Run("a session has an idle and an absolute timeout", func(t *testing.T) {
		for range 9 {
			a.clock.Advance(7 * time.Hour)
			require.Equal(t, http.StatusOK, sam.get(t, shell.Root).status)
		}
		a.clock.Advance(9 * time.Hour)
		require.Equal(t, http.StatusSeeOther, sam.get(t, shell.Root).status)
		kim := a.user(t, "kim@example.com", access.Admin)
		for range 11 {
			a.clock.Advance(7 * time.Hour)
			kim.get(t, shell.Root)
		}
		require.Equal(t, http.StatusSeeOther, kim.get(t, shell.Root).status)
	})
}

// isForAdmins reports whether only admins may submit a form of a business.
func isForAdmins(route string) bool {
	return strings.HasSuffix(route, "/customers/:subject/erase/") ||
		strings.HasSuffix(route, "/customers/:subject/export/") || strings.HasSuffix(route, "/settings/personal-data/")
}

func TestEveryConsolePageRequiresAuthorization(t *testing.T) {
	a := consoleHub(t)
	mine, theirs := hubtest.Business(t, a.hub.db), hubtest.Business(t, a.hub.db)
	sub := hubtest.Subscribe(t, a.hub.db, theirs.ID, core.OrderPlaced, "https://theirs.example/hook")
	support := a.user(t, "sam@example.com", access.Support, mine.ID)
	viewer := a.user(t, "vera@example.com", access.Viewer, mine.ID)
	for _, r := range a.hub.server.App.GetRoutes(true) {
		if !strings.HasPrefix(r.Path, shell.Root+"b/:business/") || r.Method == http.MethodHead {
			continue
		}
		path := func(business core.BusinessID) string {
			return strings.NewReplacer(":business", fmt.Sprint(business), ":id", fmt.Sprint(sub.ID), ":reference",
				core.NewID(a.clock.Now()).String()).Replace(r.Path)
		}
		t.Run(r.Method+" "+r.Path, func(t *testing.T) {
			if r.Method == http.MethodGet {
				require.Equal(t, http.StatusNotFound, support.get(t, path(theirs.ID)).status)
				require.Equal(t, http.StatusNotFound, support.get(t, path(999)).status)
				require.Equal(t, http.StatusSeeOther, (&browser{api: a}).get(t, path(mine.ID)).status)
				return
			}
			require.Equal(t, http.StatusNotFound, support.post(t, path(theirs.ID), nil).status)
			if !isOwnView(r.Path) {
				require.Equal(t, http.StatusForbidden, viewer.post(t, path(mine.ID), nil).status)
			}
			for name, change := range map[string]func(*http.Request){
				"from another site":  func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
				"from a sister site": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
				"without any origin": func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") },
				"of an old browser, foreign": func(r *http.Request) {
					r.Header.Del("Sec-Fetch-Site")
					r.Header.Set("Origin", "https://evil.example")
				},
			} {
				request := support.form(path(mine.ID), nil)
				change(request)
				require.Equal(t, http.StatusForbidden, support.send(t, request).status, name)
			}
			require.Equal(t, http.StatusForbidden,
				support.post(t, path(mine.ID), url.Values{"token": {access.FormToken("another")}}).status)
			status := support.post(t, path(mine.ID), nil).status
			require.Equal(t, isForAdmins(r.Path), status == http.StatusForbidden)
		})
	}
	for _, path := range []string{shell.UsersPath, shell.AuditPath} {
		require.Equal(t, http.StatusForbidden, support.get(t, path).status)
	}
	require.Equal(t, http.StatusNotFound, support.get(t, fmt.Sprintf("%s%d/", shell.LivePath, theirs.ID)).status)
	for _, found := range []string{"theirs.example", fmt.Sprint(theirs.ID), fmt.Sprint(sub.ID)} {
		require.NotContains(t, support.get(t, shell.SearchPath+"?q="+found).text, "theirs.example/hook")
	}
	page := support.get(t, shell.BusinessLink(mine.ID, "deliveries/"))
	for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'",
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Cross-Origin-Opener-Policy": "same-origin"} {
		require.Contains(t, page.header.Get(name), want)
	}
	require.Contains(t, page.header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
}

func TestConsoleActionsAreAudited(t *testing.T) {
	a := consoleHub(t)
	tenant := hubtest.Business(t, a.hub.db)
	sub := hubtest.Subscribe(t, a.hub.db, tenant.ID, core.OrderPlaced, "https://pos.example/hook")
	sam := a.user(t, "sam@example.com", access.Admin)
	link := func(path string) string { return shell.BusinessLink(tenant.ID, path) }
	hook := fmt.Sprintf("webhooks/%d/", sub.ID)
	why := func() url.Values {
		a.clock.Advance(time.Second)
		return url.Values{"why": {"a good reason"}}
	}

	require.Equal(t, http.StatusSeeOther, sam.post(t, link(hook+"pause/"), why()).status)
	require.Contains(t, sam.get(t, link(hook)).text, "is paused")
	require.Equal(t, http.StatusConflict, sam.post(t, link(hook+"pause/"), why()).status,
		"somebody was quicker: shown, not lost")
	require.NoError(t, outbox.NewPublisher(a.hub.db).Publish(context.Background(),
		core.Event{ID: core.NewID(a.clock.Now()), Business: tenant.ID, Type: core.OrderPlaced, At: a.clock.Now(),
			Body: []byte(`{}`), CallbackURL: "https://pos.example/cb"}))
	sent, err := deliveries.New(a.hub.db).List(context.Background(), tenant.ID, webhook.Filter{Limit: 9})
	require.NoError(t, err)
	require.Len(t, sent, 1)
	require.Equal(t, http.StatusSeeOther, sam.post(t, link(hook+"resume/"), why()).status)
	require.Equal(t, http.StatusSeeOther, sam.post(t, link("deliveries/"+sent[0].ID.String()+"/retry/"), why()).status)
	require.Equal(t, http.StatusSeeOther,
		sam.post(t, link("deliveries/retry/"), withField(why(), "id", sent[0].ID.String())).status)
	require.Equal(t, http.StatusNotFound,
		sam.post(t, link("deliveries/retry/"),
			url.Values{"id": {core.NewID(a.clock.Now()).String()}, "why": {"x"}}).status)

	made := sam.post(t, link("keys/"), withField(withField(why(), "username", "till"), "scope", "pos"))
	require.Equal(t, http.StatusOK, made.status, made.text)
	secret := regexp.MustCompile(`apikey (till:svk_[A-Za-z0-9_-]{43})`).FindStringSubmatch(made.text)
	require.NotNil(t, secret)
	require.Equal(t, http.StatusOK,
		a.do(t, request{method: "GET", path: "/external/api/v1/webhooks/",
			authorization: "apikey " + secret[1]}).status)
	keys, err := accessdb.New(a.hub.db).ListKeys(context.Background(), tenant.ID, 0, 9)
	require.NoError(t, err)
	require.Equal(t, http.StatusSeeOther,
		sam.post(t, link("keys/revoke/"), withField(why(), "id", fmt.Sprint(keys[0].ID))).status)
	require.Equal(t, http.StatusForbidden,
		a.do(t, request{method: "GET", path: "/external/api/v1/webhooks/",
			authorization: "apikey " + secret[1]}).status)
	require.NotContains(t, sam.get(t, link("keys/")).text, secret[1])

	entries, err := consolelists.New(a.hub.db).Audit(context.Background(), tenant.ID,
		console.EntryFilter{Actor: "user:sam@example.com", Limit: 50})
	require.NoError(t, err)
	var actions []string
	for _, e := range entries {
		actions = append(actions, e.Action)
		var detail map[string]any
		require.NoError(t, json.Unmarshal(e.Detail, &detail))
		require.Equal(t, "a good reason", detail["why"])
	}
	require.Equal(t, []string{"key.revoke", "key.create", "delivery.retry", "delivery.retry", "webhook.resume",
		"webhook.pause"}, actions)
	trail := sam.get(t, link("audit/?action=webhook.pause")).text
	require.Contains(t, trail, "active true → false")
	require.Contains(t, trail, "a good reason")

	file := sam.get(t, link("audit/?format=csv&actor=user:sam@example.com"))
	require.Equal(t, "text/csv; charset=utf-8", file.header.Get("Content-Type"))
	lines, err := csv.NewReader(strings.NewReader(file.text)).ReadAll()
	require.NoError(t, err)
	require.Len(t, lines, 7)
}

func TestConsoleEscapesIntegratorInput(t *testing.T) {
	const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>`
	a := consoleHub(t)
	tenant := hubtest.Business(t, a.hub.db)
	sink := hubtest.NewSink(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Evil", evil)
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, evil)
	})
	a.start(t)
	quoted, err := json.Marshal(evil)
	require.NoError(t, err)
	e := string(quoted)
	sent := func(path, body string) {
		r := a.do(t, request{method: "POST", path: path, authorization: tenant.Authorization, body: body})
		require.Equal(t, http.StatusOK, r.status, r.text)
	}
	sent("/external/api/v1/webhooks/",
		`{"event_type":"store_creation","url":"`+sink.URL+`?`+url.QueryEscape(evil)+
			`","headers":{"X-Token":"<script>alert(1)</script>"}}`)
	sent("/external/api/v1/stores/",
		`{"stores":[{"ref_id":`+e+`,"name":`+e+`,"city":`+e+`,"address":`+e+`,"included_platforms":["web"]},{"ref_id":`+
			strings.Replace(e, "1", "2", 1)+`,"name":`+e+`}]}`)
	sent("/external/api/v1/inventory/locations/-1/",
		`{"categories":[{"ref_id":`+e+`,"name":`+e+`}],"items":[{"ref_id":`+e+`,"title":`+e+
			`,"price":1,"category_ref_ids":[`+e+`]},{"ref_id":"x","price":1,"title":"t","category_ref_ids":[`+
			strings.Replace(e, "1", "2", 1)+`]}]}`)
	sam := a.user(t, "sam@example.com", access.Admin)
	hubtest.WaitUntil(t, "the first attempt has failed and is counted", func() bool {
		return consoleview.New(a.hub.db).AddSums(context.Background(), a.hub.tally.Take()) == nil &&
			strings.Contains(sam.get(t, shell.Root).text, "error 500 (server error) since") &&
			strings.Contains(sam.get(t, shell.BusinessLink(tenant.ID, "deliveries/")).text, "500")
	})
	hubtest.WaitUntil(t, "both jobs are done", func() bool {
		jobs, err := consolelists.New(a.hub.db).ListJobs(context.Background(), tenant.ID,
			console.JobFilter{State: "done", Limit: 9})
		return err == nil && len(jobs) == 2
	})
	seen, pages := map[string]bool{},
		[]string{shell.Root, shell.SearchPath + "?q=" + url.QueryEscape("script"),
			shell.SearchPath + "?q=" + url.QueryEscape(evil)}
	links := regexp.MustCompile(`href="(/console/[^"#]*)"`)
	for len(pages) > 0 {
		path := strings.ReplaceAll(pages[0], "&amp;", "&")
		pages = pages[1:]
		if seen[path] || strings.Contains(path, "format=csv") || strings.HasSuffix(path, ".json") {
			continue
		}
		seen[path] = true
		r := sam.get(t, path)
		require.Contains(t, []int{http.StatusOK, http.StatusSeeOther}, r.status, path)
		assert.NotContains(t, r.text, "<script>alert", path)
		assert.NotContains(t, r.text, "<img src=x", path)
		for _, link := range links.FindAllStringSubmatch(r.text, -1) {
			pages = append(pages, link[1])
		}
	}
	require.Greater(t, len(seen), 20, "the walk has come to the pages of every thing")
	jobs, err := consolelists.New(a.hub.db).ListJobs(context.Background(), tenant.ID,
		console.JobFilter{Kind: string(core.StoreJob), Limit: 1})
	require.NoError(t, err)
	require.Contains(t, sam.get(t,
		shell.BusinessLink(tenant.ID, "deliveries/?reference="+jobs[0].Reference.String())).text, "store_creation</a>")
	require.Contains(t, sam.get(t, shell.BusinessLink(tenant.ID, "deliveries/?reference=nonsense")).text,
		"Nothing matches")
	require.Contains(t, sam.get(t, shell.SearchPath+"?q=nothing+of+this+name").text, "Nothing found")
}
