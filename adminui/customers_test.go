package adminui_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/core/access"
)

// customerForm posts a form of a page of customers, with the token of the page.
func customerForm(t *testing.T, client *http.Client, base, action string,
	form url.Values) (response *http.Response, body string) {
	t.Helper()
	page := base + shell.Root + "b/7/customers/"
	_, shown := getPage(t, client, page)
	found := tokenPattern.FindStringSubmatch(shown)
	require.NotNil(t, found)
	form.Set("token", found[1])
	return postForm(t, client, page, base+shell.Root+action, form)
}

func TestCustomerSearchKeepsTextOutOfURLs(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := clientOf(t, base, "")
	client.Jar = adminClient(t, base).Jar
	for _, action := range []string{"b/7/customers/", "search/customers/"} {
		response, _ := customerForm(t, client, base, action,
			url.Values{"q": {"+91 98765 43210"}, "business": {"7"}, "why": {"ticket 7"}})
		require.Equal(t, http.StatusSeeOther, response.StatusCode, action)
		assert.Regexp(t, `^/console/b/7/customers/phone-[0-9a-f]{16}/$`, response.Header.Get("Location"))
	}
	require.Len(t, f.done, 2)
	for _, change := range f.done {
		assert.Equal(t, "customer.search", change.Action)
		assert.EqualValues(t, 7, change.Business)
		assert.Equal(t, "ticket 7", change.Why)
	}
	response, body := customerForm(t, client, base, "b/7/customers/", url.Values{"q": {"12"}, "why": {"ticket 7"}})
	assert.Equal(t, http.StatusBadRequest, response.StatusCode)
	assert.Contains(t, body, "enter a whole telephone number")
	assert.Contains(t, body, `value="12"`)
	response, _ = customerForm(t, client, base, "b/7/customers/", url.Values{"q": {"Asha"}})
	assert.Equal(t, http.StatusBadRequest, response.StatusCode, "a reason is required")
}

func TestOnlyAdminsEraseAndExport(t *testing.T) {
	f := fullHub()
	for _, role := range access.Roles() {
		f.users = append(f.users, access.User{ID: int64(10 + len(f.users)), Email: string(role) + "@example.com",
			Role: role, Businesses: f.users[1].Businesses})
	}
	base := serveConsole(t, f)
	const subject = "b/7/customers/phone-00000000000000ff/"
	for _, role := range access.Roles() {
		client := clientOf(t, base, role)
		status, page := getPage(t, client, base+shell.Root+subject)
		_, home := getPage(t, client, base+shell.Root+"b/7/")
		switch role {
		case access.Viewer:
			assert.Equal(t, http.StatusForbidden, status)
			assert.NotContains(t, page, "AGG-88120-4417")
			assert.NotContains(t, home, "/console/b/7/customers/")
		case access.Support:
			assert.Contains(t, page, "AGG-88120-4417")
			assert.NotContains(t, page, text.CustomerErase)
			assert.NotContains(t, page, text.CustomerExport)
			assert.Contains(t, home, "/console/b/7/customers/")
		case access.Admin:
			assert.Contains(t, page, "locations of 3 orders, ")
			assert.Contains(t, page, "Not finished yet: 1 order.")
		}
	}
	client := clientOf(t, base, access.Admin)
	_, page := getPage(t, client, base+shell.Root+"b/7/customers/name-00000000000000ff/")
	assert.NotContains(t, page, text.CustomerErase, "a name may be that of many")
	assert.Contains(t, page, "Several people may have this name")
}

func TestManyOrdersAreCountedInPart(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	_, page := getPage(t, adminClient(t, base), base+shell.Root+"b/7/customers/phone-00000000000000aa/")
	assert.Contains(t, page, "at least 200")
	assert.Contains(t, page, "of more than 200 orders, with 410 event deliveries and 0 calls of these")
	assert.Contains(t, page, "may use one contact for many customers")
}

func TestErasureNeedsTheShownNumberOfOrders(t *testing.T) {
	f := fullHub()
	base := serveConsole(t, f)
	client := clientOf(t, base, "")
	client.Jar = adminClient(t, base).Jar
	const action = "b/7/customers/order-10412/erase/"
	response, body := customerForm(t, client, base, action, url.Values{"why": {"asked"}, "orders": {"2"}})
	assert.Equal(t, http.StatusConflict, response.StatusCode)
	assert.Contains(t, body, "There were 2 orders, and now there are 3 orders.")
	require.Empty(t, f.done)
	response, _ = customerForm(t, client, base, action, url.Values{"why": {"asked"}, "orders": {"3"}})
	assert.Equal(t, http.StatusSeeOther, response.StatusCode)
	_, page := getPage(t, client, base+response.Header.Get("Location"))
	assert.Contains(t, page, text.CustomerEraseAsked)
	assert.Contains(t, page, "2 orders left")
	require.Equal(t, "customer.erase", f.done[0].Action)
}

func TestExportIsValidJSON(t *testing.T) {
	base := serveConsole(t, fullHub())
	client := adminClient(t, base)
	response, body := customerForm(t, client, base, "b/7/customers/phone-00000000000000ff/export/",
		url.Values{"why": {"asked"}})
	require.Equal(t, http.StatusOK, response.StatusCode)
	assert.Equal(t, `attachment; filename="customer-phone-00000000000000ff.json"`,
		response.Header.Get("Content-Disposition"))
	var file struct {
		Business int
		Customer string
		Orders   []struct {
			ID int `json:"order_id"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &file), body)
	assert.Equal(t, 7, file.Business)
	assert.Equal(t, "phone-00000000000000ff", file.Customer)
	require.Len(t, file.Orders, 2, "one was deleted meanwhile")
	assert.Contains(t, body, "Asha")
}
