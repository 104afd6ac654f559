package credential

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/http/httpguts"

	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
)

// Bounds of what a token endpoint can return.
const (
	maxToken    = 16 << 10 // bytes of a token
	maxLifetime = 366 * 24 * time.Hour
)

// grant is what a token endpoint granted.
type grant struct {
	access   string
	refresh  string        // "": the refresh token stays
	lifetime time.Duration // 0: unknown
}

// parseGrant parses a successful response (RFC 6749, 5.1). Its errors contain nothing of the response.
func parseGrant(body []byte) (g grant, err error) {
	var response struct {
		AccessToken  string         `json:"access_token"`
		RefreshToken string         `json:"refresh_token"`
		ExpiresIn    jsontext.Value `json:"expires_in"`
	}
	if json.Unmarshal(body, &response, jsontext.AllowInvalidUTF8(false)) != nil {
		return g, errors.New("the response is not a JSON object with an access_token")
	}
	g = grant{access: response.AccessToken, refresh: response.RefreshToken}
	if g.access == "" {
		return g, errors.New("the response has no access_token")
	}
	for name, token := range map[string]string{"access_token": g.access, "refresh_token": g.refresh} {
		if len(token) > maxToken || !httpguts.ValidHeaderFieldValue(token) {
			return g, fmt.Errorf("the %s of the response is too long, or has a control character", name)
		}
	}
	g.lifetime = lifetime(string(response.ExpiresIn))
	return g, nil
}

// lifetime parses the value of expires_in: seconds, as a number or as a string. It returns 0 for anything else.
func lifetime(text string) time.Duration {
	seconds, err := strconv.ParseFloat(strings.Trim(text, `"`), 64)
	if err != nil || math.IsNaN(seconds) || seconds < 1 {
		return 0
	}
	return time.Duration(min(seconds, maxLifetime.Seconds())) * time.Second
}

// errorCode matches the error codes of RFC 6749, 5.2 and those that servers add.
var errorCode = regexp.MustCompile(`^[a-z][a-z0-9_]{1,39}$`)

// refusal returns the error code of a response (RFC 6749, 5.2), or "" if it has none.
func refusal(body []byte) string {
	var response struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &response) != nil || !errorCode.MatchString(response.Error) {
		return ""
	}
	return response.Error
}

// refusedCodes are the error codes that another attempt with the same secrets does not resolve.
var refusedCodes = []string{"invalid_client", "invalid_grant", "unauthorized_client", "invalid_scope",
	"unsupported_grant_type", "access_denied"}

// isRefusal reports whether a response says that the credentials are wrong.
func isRefusal(status int, code string) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden ||
		status == http.StatusBadRequest && slices.Contains(refusedCodes, code)
}

// secretMembers are the members of a token request that are secrets.
var secretMembers = []string{"client_secret", "refresh_token", "code", "code_verifier"}

// masked returns the record of a token request without its secrets and the tokens of its response.
func masked(a relay.Attempt, form url.Values, secrets []string) *relay.Attempt {
	form = cloneForm(form)
	for _, name := range secretMembers {
		if form.Has(name) {
			form.Set(name, webhook.Masked)
		}
	}
	a.RequestBody = []byte(strings.ReplaceAll(form.Encode(), url.QueryEscape(webhook.Masked), webhook.Masked))
	var response any
	successful := a.Status >= 200 && a.Status < 300
	if err := json.Unmarshal(a.ResponseBody, &response); err == nil && (!successful || hasToken(response)) {
		response = maskValues(response, &secrets)
		if text, err := json.Marshal(response, json.Deterministic(true)); err == nil {
			a.ResponseBody = text
		}
	} else if successful && len(a.ResponseBody) > 0 {
		a.ResponseBody = []byte(webhook.Masked) // a token may be anywhere in it
	}
	masker := webhook.NewMasker(secrets...)
	a.ResponseBody = []byte(masker.Apply(string(a.ResponseBody)))
	headers := make(map[string]string, len(a.ResponseHeaders))
	for name, value := range a.ResponseHeaders {
		if headers[name] = masker.Apply(value); name == "Set-Cookie" {
			headers[name] = webhook.Masked
		}
	}
	a.ResponseHeaders = headers
	return &a
}

func cloneForm(form url.Values) url.Values {
	out := make(url.Values, len(form))
	for name, values := range form {
		out[name] = slices.Clone(values)
	}
	return out
}

// hasToken reports whether a response is an object with an access token.
func hasToken(response any) bool {
	object, _ := response.(map[string]any)
	token, _ := object["access_token"].(string)
	return token != ""
}

// harmless are the members of a response that are no secret.
var harmless = []string{"token_type", "expires_in", "scope", "error", "error_description"}

// maskValues returns a value of a response with all other than harmless members masked, at any depth. It adds the
// masked texts to secrets.
func maskValues(value any, secrets *[]string) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			if !slices.Contains(harmless, name) || !isPlain(member) {
				value[name] = maskValues(member, secrets)
			}
		}
		return value
	case []any:
		for i, element := range value {
			value[i] = maskValues(element, secrets)
		}
		return value
	case string:
		*secrets = append(*secrets, value)
	}
	return webhook.Masked
}

// isPlain reports whether a value is neither an object nor an array.
func isPlain(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}
