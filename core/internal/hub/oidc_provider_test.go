package hub

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// provider is a minimal OpenID Connect provider: discovery, keys, authorization code with PKCE, tokens signed with
// RS256.
type provider struct {
	*httptest.Server
	key           *rsa.PrivateKey
	mu            sync.Mutex
	codes         map[string]url.Values // authorization requests, by their code
	claims        map[string]any        // claims of the user, which override the valid ones
	tokenRequests []url.Values          // for tokens
}

const providerClient, providerSecret = "servery", "between us"

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	p := &provider{key: key, codes: map[string]url.Values{}}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.write(w, map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize",
			"token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
			"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
			"id_token_signing_alg_values_supported": []string{"RS256"}})
	})
	routes.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		p.write(w, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1",
			"n": encoded(key.N.Bytes()), "e": encoded(big.NewInt(int64(key.E)).Bytes())}}})
	})
	routes.HandleFunc("GET /authorize", p.authorize)
	routes.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewServer(routes)
	t.Cleanup(p.Close)
	return p
}

func encoded(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func (p *provider) write(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

// authorize signs the user in at once and redirects with a code.
func (p *provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != providerClient || q.Get("response_type") != "code" ||
		q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" {
		http.Error(w, "not asked as it should be", http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	code := encoded([]byte(time.Now().String()))
	p.codes[code] = q
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(),
		http.StatusFound)
}

// token exchanges a code once, for the client with its verifier.
func (p *provider) token(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tokenRequests = append(p.tokenRequests, r.PostForm)
	begun, known := p.codes[r.PostForm.Get("code")]
	delete(p.codes, r.PostForm.Get("code"))
	challenge := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	id, secret, basic := r.BasicAuth()
	if !known || encoded(challenge[:]) != begun.Get("code_challenge") ||
		r.PostForm.Get("redirect_uri") != begun.Get("redirect_uri") || !basic || id != providerClient ||
		secret != url.QueryEscape(providerSecret) {
		w.WriteHeader(http.StatusBadRequest)
		p.write(w, map[string]any{"error": "invalid_grant"})
		return
	}
	claims := map[string]any{"iss": p.URL, "sub": "248289761001", "aud": providerClient, "nonce": begun.Get("nonce"),
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
		"email": "kim@example.com", "email_verified": true}
	for name, value := range p.claims {
		claims[name] = value
	}
	p.write(w, map[string]any{"access_token": "a", "token_type": "Bearer", "expires_in": 3600,
		"id_token": p.signed(claims)})
}

func (p *provider) signed(claims map[string]any) string {
	body, _ := json.Marshal(claims)
	text := encoded([]byte(`{"alg":"RS256","kid":"1"}`)) + "." + encoded(body)
	sum := sha256.Sum256([]byte(text))
	signature, _ := rsa.SignPKCS1v15(rand.Reader, p.key, crypto.SHA256, sum[:])
	return text + "." + encoded(signature)
}
