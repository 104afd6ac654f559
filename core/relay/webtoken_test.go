package relay

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWebTokensAreSignedWithTheirKey(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abc\xfb\xff\xff")
	require.Regexp(t, "[-_]", base64.RawURLEncoding.EncodeToString(key))
	now := time.Unix(1_700_000_000, 0)
	access := Access{Settings: []byte(`{"developer":"dev-1"}`), Secrets: map[string]string{"key_id": "key-1",
		"raw": "raw key", "standard": base64.StdEncoding.EncodeToString(key), "wrong": "?",
		"url": base64.RawURLEncoding.EncodeToString(key) + " ", "raw@s1": "key of s1"}}
	for name, row := range map[string]struct {
		secret string
		base64 bool
		store  string
		key    []byte
	}{
		"raw":              {"raw", false, "", []byte("raw key")},
		"of a store":       {"raw", false, "s1", []byte("key of s1")},
		"standard base64":  {"standard", true, "", key},
		"URL-safe, spaces": {"url", true, "", key},
	} {
		t.Run(name, func(t *testing.T) {
			request := Request{Secrets: map[string]string{}}
			token := WebToken{Secret: row.secret, Base64: row.base64, Lifetime: 5 * time.Minute,
				Header: "Authorization", Template: "Bearer {token}",
				Parameters: map[string]string{"dd-ver": "DD-JWT-V1"},
				Claims: []Claim{{Name: "aud", Value: "doordash"}, {Name: "kid", Secret: "key_id"},
					{Name: "iss", Setting: "developer"}}}
			require.NoError(t, token.add(&request, "partner", access, row.store, now))
			text, found := strings.CutPrefix(request.Secrets["Authorization"], "Bearer ")
			require.True(t, found)
			parts := strings.Split(text, ".")
			require.Len(t, parts, 3)
			require.JSONEq(t, `{"alg":"HS256","typ":"JWT","dd-ver":"DD-JWT-V1"}`, decodePart(t, parts[0]))
			require.JSONEq(t, `{"aud":"doordash","kid":"key-1","iss":"dev-1","iat":1700000000,"exp":1700000300}`,
				decodePart(t, parts[1]))
			sum := hmac.New(sha256.New, row.key)
			sum.Write([]byte(parts[0] + "." + parts[1]))
			require.Equal(t, base64.RawURLEncoding.EncodeToString(sum.Sum(nil)), parts[2])
		})
	}
	for message, token := range map[string]WebToken{
		`no secret "absent"`:    {Secret: "absent"},
		`"wrong" is not base64`: {Secret: "wrong", Base64: true},
		`lack account`:          {Secret: "raw", Claims: []Claim{{Name: "iss", Setting: "account"}}},
	} {
		err := token.add(&Request{Secrets: map[string]string{}}, "partner", access, "", now)
		require.ErrorAs(t, err, &MissingSettingError{})
		require.ErrorContains(t, err, message)
	}
}

func decodePart(t *testing.T, part string) string {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(part)
	require.NoError(t, err)
	require.True(t, json.Valid(text))
	return string(text)
}
