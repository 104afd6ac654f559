package adminui_test

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/servery-hub/servery/adminui/shell"
)

// form is a form that posts.
type form struct {
	action string
	values url.Values
}

// typed are the values of empty fields, by name.
var typed = map[string]string{"why": "The merchant asked for it.", "name": "web", "alias": "meals", "q": "5550142",
	"email": "new@example.com", "present": password, "password": "another good password",
	"parameter-minutes": "5"}

// outcomes are the titles of pages that show the result of an action themselves, by the end of its URL. That of a file
// is from its content.
var outcomes = map[string]string{"/customers/": ">Orders of a customer</h1>", "/export/": `"customer":"phone-`,
	"/keys/": ">The new key, shown this once</h1>", "/callback/": ">The new callback key, shown this once</h1>",
	"/rotate/": ">The new signing secret, shown this once</h1>", "/columns/": ">Audit trail</h1>",
	"/texts/": ">Deliveries</h1>", "/users/": ">The link for the first sign-in, shown this once</h1>",
	"/link/": ">The link for the first sign-in, shown this once</h1>"}

// formsOf returns the forms of the region of a page, filled in.
func formsOf(t *testing.T, page string) []form {
	t.Helper()
	_, region, _ := strings.Cut(page, `id="region"`)
	root, err := html.Parse(strings.NewReader("<main " + region))
	require.NoError(t, err)
	var forms []form
	for node := range root.Descendants() {
		if node.Data != "form" || attribute(node, "method") != "post" {
			continue
		}
		f := form{action: attribute(node, "action"), values: url.Values{}}
		for field := range node.Descendants() {
			name, value := attribute(field, "name"), attribute(field, "value")
			switch {
			case name == "":
			case field.Data == "select":
				for option := range field.Descendants() {
					if _, selected := attributes(option)["selected"]; option.Data == "option" &&
						(selected || !f.values.Has(name)) {
						f.values.Set(name, attribute(option, "value"))
					}
				}
			case field.Data == "input" && value == "" && attribute(field, "type") != "hidden":
				f.values.Set(name, typed[name])
			case field.Data == "input" || field.Data == "textarea":
				f.values.Set(name, value)
			}
		}
		forms = append(forms, f)
	}
	return forms
}

func attributes(node *html.Node) map[string]string {
	all := map[string]string{}
	for _, a := range node.Attr {
		all[a.Key] = a.Val
	}
	return all
}

func attribute(node *html.Node, name string) string { return attributes(node)[name] }

// pageForm is a form by the name of its page.
type pageForm struct {
	page  string
	index int
}

func TestEachActionIsConfirmedOnThePage(t *testing.T) {
	hub := fullHub()
	base := serveConsole(t, hub)
	client := adminClient(t, base)
	forms := map[string]pageForm{}
	pages := allPages(t, hub)
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		_, body := getPage(t, client, base+shell.Root+pages[page])
		for i, f := range formsOf(t, body) {
			_, seen := forms[f.action]
			switch {
			case seen:
			case strings.Contains(f.action, "/deliveries/") && strings.Contains(page, "order"):
				// The fake hub has no delivery of the timelines of orders.
			case strings.HasSuffix(pages[page], "/login/done/"): // which shows the forms of a platform only once
			default:
				forms[f.action] = pageForm{page, i}
			}
		}
	}
	require.Greater(t, len(forms), 50)
	for _, action := range slices.Sorted(maps.Keys(forms)) {
		t.Run(action, func(t *testing.T) {
			fresh := fullHub() // with other ids
			fresh.sessions, fresh.mu = hub.sessions, hub.mu
			base, at := serveConsole(t, fresh), forms[action]
			address := base + shell.Root + allPages(t, fresh)[at.page]
			_, page := getPage(t, client, address)
			f := formsOf(t, page)[at.index]
			response, result := postForm(t, client, address, base+f.action, f.values)
			assert.Equal(t, http.StatusOK, response.StatusCode)
			if _, flash, confirmed := strings.Cut(result, `class="flash" role="status">`); confirmed {
				said, _, _ := strings.Cut(flash, "<")
				assert.NotContains(t, strings.ToLower(said), "reload")
				return
			}
			for end, words := range outcomes {
				if strings.HasSuffix(f.action, end) {
					assert.Contains(t, result, words)
					return
				}
			}
			t.Errorf("the page does not show the result: %s", result)
		})
	}
}
