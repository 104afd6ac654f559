package relay

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/net/http/httpguts"
)

// WebToken specifies a JSON Web Token that is signed by HS256 (RFC 7518, 3.2) for each request. Nothing is cached.
type WebToken struct {
	Secret           string // name of the secret that is the key
	Base64           bool   // the secret is the key in base64 or base64url
	Claims           []Claim
	Parameters       map[string]string // further members of the token's header
	Lifetime         time.Duration
	Header, Template string // of the plan's request; Template contains {token} once
}

// Claim is a claim of a WebToken. It has a value, or the name of a secret or of one of the platform's settings.
type Claim struct{ Name, Value, Secret, Setting string }

// add sets the header with a new token.
func (t WebToken) add(r *Request, credential string, access Access, store string, now time.Time) error {
	key, err := t.key(access, store)
	if err != nil {
		return err
	}
	claims := map[string]any{"iat": now.Unix(), "exp": now.Add(t.Lifetime).Unix()}
	for _, c := range t.Claims {
		if claims[c.Name], err = c.value(access, store); err != nil {
			return err
		}
	}
	token, err := t.sign(key, claims)
	if err != nil {
		return err
	}
	value := strings.Replace(t.Template, "{token}", token, 1)
	if !httpguts.ValidHeaderFieldValue(value) {
		return missingSetting("the token of the credential %q is not valid in a header", credential)
	}
	r.Secrets[t.Header] = value
	return nil
}

// key returns the key of the signature.
func (t WebToken) key(access Access, store string) ([]byte, error) {
	secret, _, err := access.RequiredSecret(t.Secret, store)
	if err != nil || !t.Base64 {
		return []byte(secret), err
	}
	plain := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(strings.TrimSpace(secret), "="))
	key, err := base64.RawStdEncoding.DecodeString(plain)
	if err != nil || len(key) == 0 {
		return nil, missingSetting("the platform's secret %q is not base64", t.Secret)
	}
	return key, nil
}

// value returns the value of a claim, or a MissingSettingError.
func (c Claim) value(access Access, store string) (string, error) {
	switch {
	case c.Secret != "":
		value, _, err := access.RequiredSecret(c.Secret, store)
		return value, err
	case c.Setting != "":
		value := setting("", c.Setting, access.Settings)
		if value == "" {
			return "", missingSetting("the platform's settings lack %s", c.Setting)
		}
		return value, nil
	}
	return c.Value, nil
}

func (t WebToken) sign(key []byte, claims map[string]any) (string, error) {
	header := map[string]string{}
	maps.Copy(header, t.Parameters)
	header["alg"], header["typ"] = "HS256", "JWT"
	var parts [2]string
	for i, part := range []any{header, claims} {
		text, err := json.Marshal(part, json.Deterministic(true))
		if err != nil {
			return "", err
		}
		parts[i] = base64.RawURLEncoding.EncodeToString(text)
	}
	signed := parts[0] + "." + parts[1]
	sum := hmac.New(sha256.New, key)
	sum.Write([]byte(signed))
	return signed + "." + base64.RawURLEncoding.EncodeToString(sum.Sum(nil)), nil
}
