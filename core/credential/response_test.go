package credential

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/relay"
)

func TestGrantsAreReadStrictly(t *testing.T) {
	for body, want := range map[string]grant{
		`{"access_token":"a","expires_in":3600}`:                   {access: "a", lifetime: time.Hour},
		`{"access_token":"a","expires_in":"90"}`:                   {access: "a", lifetime: 90 * time.Second},
		`{"access_token":"a","expires_in":1e300}`:                  {access: "a", lifetime: maxLifetime},
		`{"access_token":"a","expires_in":-1,"scope":["x"]}`:       {access: "a"},
		`{"access_token":"a","expires_in":null}`:                   {access: "a"},
		`{"access_token":"a","refresh_token":"r","expires_in":{}}`: {access: "a", refresh: "r"},
	} {
		got, err := parseGrant([]byte(body))
		require.NoError(t, err, body)
		require.Equal(t, want, got, body)
	}
	for _, body := range []string{"", "[]", "{}", `{"access_token":7}`,
		`{"access_token":"a\u0000b"}`, `{"access_token":"a"`,
		`{"access_token":"a\nb"}`, `{"access_token":"` + strings.Repeat("a", maxToken+1) + `"}`,
		`{"access_token":"a","refresh_token":"b\r\n"}`} {
		_, err := parseGrant([]byte(body))
		require.Error(t, err, body)
	}
}

func TestTokenRecordsHaveNoSecrets(t *testing.T) {
	form := url.Values{"grant_type": {"refresh_token"}, "client_id": {"one"}, "client_secret": {"sec ret"},
		"refresh_token": {"renew-me"}}
	for _, body := range []string{
		`{"access_token":"granted","id_token":"who-i-am","nested":{"refresh_token":"renew-you"},` +
			`"again":"granted renew-me"}`,
		`{"access_token":"granted","keys":["who-i-am",{"jwt":"renew-you"},7],"session":"who-i-am"}`,
		`{"access_token":"granted","scope":["who-i-am"],"error":{"note":"renew-you"}}`,
		`{"accessToken":"granted-anew","data":["who-i-am"]}`,
		`{"access_token":"","scope":"who-i-am"}`, `["who-i-am"]`,
		`access_token=granted&refresh_token=renew-you&id_token=who-i-am`,
	} {
		record := masked(relay.Attempt{Status: 200, ResponseBody: []byte(body), ResponseHeaders: map[string]string{
			"X-Token": "granted", "Set-Cookie": "session=who-i-am"}}, form, []string{"sec ret", "renew-me", "granted"})
		text := string(record.RequestBody) + string(record.ResponseBody) + record.ResponseHeaders["X-Token"] +
			record.ResponseHeaders["Set-Cookie"]
		for _, secret := range []string{"sec ret", "sec+ret", "renew-", "granted", "who-i-am"} {
			require.NotContains(t, text, secret, body)
		}
	}
	require.Equal(t, "sec ret", form.Get("client_secret"))
}

func TestTokenRecordsKeepHarmlessMembers(t *testing.T) {
	record := masked(relay.Attempt{Status: 200, ResponseBody: []byte(
		`{"access_token":"granted","token_type":"Bearer","expires_in":60,"scope":"orders","user":"who-i-am"}`)},
		url.Values{}, nil)
	require.JSONEq(t, `{"access_token":"••••••","token_type":"Bearer","expires_in":60,"scope":"orders",
		"user":"••••••"}`, string(record.ResponseBody))
	record = masked(relay.Attempt{Status: 400, ResponseBody: []byte(
		`{"error":"invalid_grant","error_description":"expired","hint":["who-i-am"]}`)}, url.Values{}, nil)
	require.JSONEq(t, `{"error":"invalid_grant","error_description":"expired","hint":["••••••"]}`,
		string(record.ResponseBody))
}

func FuzzParseGrant(f *testing.F) {
	for _, seed := range []string{`{"access_token":"a","expires_in":3600}`, `{"access_token":"a","expires_in":"1"}`,
		`{}`,
		`{"access_token":"a","access_token":"b"}`, `{"error":"invalid_grant"}`, "\xff", `{"expires_in":1e999}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		g, err := parseGrant(body)
		if err == nil && (g.access == "" || g.lifetime < 0 || g.lifetime > maxLifetime) {
			t.Fatalf("%q: %+v", body, g)
		}
		if code := refusal(body); len(code) > 40 {
			t.Fatalf("%q", code)
		}
		record := masked(relay.Attempt{Status: 200, ResponseBody: body}, url.Values{}, []string{g.access})
		if len(g.access) >= 6 && strings.Contains(string(record.ResponseBody), g.access) {
			t.Fatalf("%q has the token", record.ResponseBody)
		}
	})
}
