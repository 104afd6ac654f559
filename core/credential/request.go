package credential

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/webhook"
)

// tokenRequest is a token request with its URL and secrets.
type tokenRequest struct {
	relay.TokenRequest
	url                    string
	clientID, clientSecret string
	refreshToken           string // the one that an operator set
	certificate            *webhook.Certificate
	store                  string // whose own secrets it uses; "": those of the platform
}

// resolve adds URL and secrets to a request. Its error is a relay.MissingSettingError.
func resolve(r relay.TokenRequest) (t tokenRequest, err error) {
	t = tokenRequest{TokenRequest: r}
	o := r.OAuth2
	if o.Endpoint != "" {
		target, err := r.Access.EndpointURL(o.Endpoint, o.Hosts, o.Path)
		if err != nil {
			return t, err
		}
		t.url = target.String()
	} else {
		target, err := url.Parse(o.TokenURL)
		if err != nil || !relay.AllowsHost(o.Hosts, target.Hostname()) {
			return t, relay.MissingSettingError{Message: fmt.Sprintf(
				"the plugin may not request tokens at the URL of its credential %q", r.Credential)}
		}
		t.url = o.TokenURL
	}
	for _, secret := range []struct {
		name string
		into *string
	}{{o.ClientID, &t.clientID}, {o.ClientSecret, &t.clientSecret}, {o.RefreshToken, &t.refreshToken}} {
		if secret.name == "" {
			continue
		}
		value, of, err := r.Access.RequiredSecret(secret.name, r.Store)
		if err != nil && secret.name == o.RefreshToken && o.AuthorizeURL != "" {
			err = relay.MissingSettingError{Message: fmt.Sprintf(
				"nobody has logged in at the aggregator for the credential %q: log in on the page of the platform",
				r.Credential)}
		}
		if err != nil {
			return t, err
		}
		*secret.into = value
		if of != "" {
			t.store = of
		}
	}
	for _, name := range []string{o.Certificate.Chain, o.Certificate.Key} {
		if _, of, _ := r.Access.Secret(name, r.Store); of != "" {
			t.store = of
		}
	}
	t.certificate, err = r.Access.ClientCertificate(o.Certificate, r.Store)
	return t, err
}

// digest identifies everything that the tokens depend on.
func (t tokenRequest) digest() string {
	o := t.OAuth2
	parts := []string{t.url, t.clientID, t.clientSecret, t.refreshToken, o.Scope, fmt.Sprint(o.InBody)}
	if t.certificate != nil {
		parts = append(parts, t.certificate.Chain, t.certificate.Key)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Parameters)) {
		parts = append(parts, name, o.Parameters[name])
	}
	return digestOf(parts...)
}

func digestOf(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// secretNames lists the secrets of the request, for people.
func (t tokenRequest) secretNames() string {
	var names []string
	for _, name := range []string{t.OAuth2.ClientID, t.OAuth2.ClientSecret, t.OAuth2.RefreshToken} {
		if name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// grant returns the members of the token request that authorize it (RFC 6749, 4.4.2 and 6).
func (t tokenRequest) grant(refreshToken string) url.Values {
	if t.OAuth2.RefreshToken == "" {
		return url.Values{"grant_type": {"client_credentials"}}
	}
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refreshToken}}
}

// form returns the body of the token request.
func (t tokenRequest) form(grant url.Values) url.Values {
	form := maps.Clone(grant)
	for name, value := range t.OAuth2.Parameters {
		form.Set(name, value)
	}
	if t.OAuth2.Scope != "" {
		form.Set("scope", t.OAuth2.Scope)
	}
	if t.OAuth2.InBody || t.OAuth2.ClientSecret == "" { // a public client has no secret, but an id
		form.Set("client_id", t.clientID)
		if t.clientSecret != "" {
			form.Set("client_secret", t.clientSecret)
		}
	}
	return form
}

// send makes the token request. The error says why there is no token; the record has no secrets.
func (t tokenRequest) send(ctx context.Context, sender relay.Sender,
	authorization url.Values) (g grant, record *relay.Attempt, err error) {
	form := t.form(authorization)
	request := relay.Request{Method: http.MethodPost, URL: t.url, Body: []byte(form.Encode()), Unmasked: true,
		Certificate: t.certificate, Secrets: map[string]string{}, Headers: map[string]string{
			"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}}
	secrets := []string{t.clientSecret}
	for _, name := range secretMembers {
		secrets = append(secrets, form.Get(name))
	}
	if !form.Has("client_id") {
		pair := url.QueryEscape(t.clientID) + ":" + url.QueryEscape(t.clientSecret)
		basic := base64.StdEncoding.EncodeToString([]byte(pair))
		request.Secrets["Authorization"] = "Basic " + basic
		secrets = append(secrets, basic, pair)
	}
	a := sender.Send(ctx, request)
	g, err = t.evaluate(a)
	record = masked(a, form, append(secrets, g.access, g.refresh))
	if err != nil {
		record.ErrorClass, record.Error = failureClass, err.Error()
	}
	return g, record, err
}

// failureClass is the error class of a failed token request.
const failureClass = "credentials"

// evaluate returns the tokens of a response, or why there are none. The error is Unavailable if the aggregator cannot
// process the request now.
func (t tokenRequest) evaluate(a relay.Attempt) (g grant, err error) {
	code := refusal(a.ResponseBody)
	status := strings.TrimSpace(fmt.Sprintf("%d %s", a.Status, code))
	switch {
	case a.ErrorClass != "":
		return g, core.Errorf(core.Unavailable, "the token request of the credential %q failed: %s", t.Credential,
			a.Error)
	case isRefusal(a.Status, code):
		return g, fmt.Errorf("the aggregator rejected the credentials %q: it responded to the token request with %s: "+
			"check the secrets %s",
			t.Credential, status, t.secretNames())
	case a.Status < 200 || a.Status > 299:
		reason := fmt.Sprintf("the aggregator responded to the token request of the credential %q with %s",
			t.Credential, status)
		if a.Status == http.StatusTooManyRequests || a.Status >= http.StatusInternalServerError {
			return g, core.Errorf(core.Unavailable, "%s", reason)
		}
		return g, errors.New(reason)
	}
	if g, err = parseGrant(a.ResponseBody); err != nil {
		return grant{}, fmt.Errorf("the token request of the credential %q failed: %w", t.Credential, err)
	}
	return g, nil
}
