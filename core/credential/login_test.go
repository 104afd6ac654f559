package credential

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestLoginErrorSaysWhetherTheAggregatorFailed(t *testing.T) {
	for name, row := range map[string]struct {
		status  int // 0: the connection ends without a response
		body    string
		code    core.Code
		message string
	}{
		"no response":      {0, "", core.Unavailable, "the token request"},
		"overloaded":       {503, "", core.Unavailable, "503"},
		"too many":         {429, "", core.Unavailable, "429"},
		"expired code":     {400, `{"error":"invalid_grant"}`, core.Invalid, "400 invalid_grant"},
		"not found":        {404, "", core.Invalid, "404"},
		"no JSON":          {200, "<html>", core.Invalid, "not a JSON object"},
		"no refresh token": {200, `{"access_token":"a"}`, core.Invalid, "granted no refresh token"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.oauth.AuthorizeURL = "https://aggregator.example/login"
			f.server.respondWith(func(_ int, w http.ResponseWriter, _ url.Values) bool {
				if row.status == 0 {
					panic(http.ErrAbortHandler)
				}
				w.WriteHeader(row.status)
				_, _ = w.Write([]byte(row.body))
				return true
			})
			login := Login{Request: f.request(""), Secret: core.NewToken(), Back: "https://hub.example/back"}
			_, err := login.RefreshToken(t.Context(), f.replica().Sender, core.DeriveToken("state", login.Secret), "c")
			require.Equal(t, row.code, core.CodeOf(err))
			require.ErrorContains(t, err, "the login failed: ")
			require.ErrorContains(t, err, row.message)
		})
	}
}
