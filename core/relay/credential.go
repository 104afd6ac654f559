package relay

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
	"github.com/servery-hub/servery/plugins/sdk/signature"
)

// Credential is a credential that the hub produces for the request of a plan. Exactly one field beside the name is
// set.
type Credential struct {
	Name      string
	OAuth2    *OAuth2
	Signature *Signature
	WebToken  *WebToken
}

// OAuth2 specifies how an access token is requested (RFC 6749). ClientID, ClientSecret and RefreshToken are names of
// secrets.
type OAuth2 struct {
	Endpoint    string   // of the token request, with Path; "": TokenURL
	Hosts       []string // allowed for the token request
	Path        string
	TokenURL    string
	Certificate Certificate // of Endpoint

	ClientID, ClientSecret string
	RefreshToken           string // "": the grant is client credentials
	InBody                 bool   // client id and secret are in the body, not in a header
	Scope                  string
	Parameters             map[string]string
	AuthorizeURL           string // where a merchant logs in for a RefreshToken; "": an operator sets it
	AuthorizeParameters    map[string]string
	Header, Template       string // of the plan's request; Template contains {token} once
}

// Signature specifies a header with an HMAC of the request.
type Signature struct {
	Secret          string // name of the secret
	Scheme          signature.Scheme
	Header          string
	Value           string // contains {signature} once, and may contain {timestamp}
	TimestampHeader string // "": none
	Timestamp       TimestampFormat
}

// format formats a time. The default is Seconds.
func (f TimestampFormat) format(at time.Time) string {
	switch f {
	case Milliseconds:
		return strconv.FormatInt(at.UnixMilli(), 10)
	case RFC3339:
		return at.UTC().Format(time.RFC3339)
	default:
		return strconv.FormatInt(at.Unix(), 10)
	}
}

// Certificate names the secrets with a client certificate chain and its key, in PEM. The zero value is none.
type Certificate struct{ Chain, Key string }

// StoreSecret returns the name of a store's own value of a secret.
func StoreSecret(name, store string) string { return name + "@" + store }

// Secret returns a secret of a store, or else that of the platform. The second result is the store whose own value it
// is, or "".
func (a Access) Secret(name, store string) (value, of string, found bool) {
	if store != "" {
		if value, found = a.Secrets[StoreSecret(name, store)]; found {
			return value, store, true
		}
	}
	value, found = a.Secrets[name]
	return value, "", found
}

// MissingSettingError means that a platform lacks a URL or a secret, or that it is not usable.
type MissingSettingError struct{ Message string }

// Error returns the message, which is for people.
func (e MissingSettingError) Error() string { return e.Message }

func missingSetting(format string, args ...any) error {
	return MissingSettingError{fmt.Sprintf(format, args...)}
}

// RequiredSecret returns a secret, or a MissingSettingError.
func (a Access) RequiredSecret(name, store string) (value, of string, err error) {
	value, of, found := a.Secret(name, store)
	if !found {
		return "", "", missingSetting("the platform has no secret %q, which its plugin requires", name)
	}
	return value, of, nil
}

// ClientCertificate returns the certificate that two secrets contain, or nil if there is none.
func (a Access) ClientCertificate(c Certificate, store string) (*webhook.Certificate, error) {
	if c == (Certificate{}) {
		return nil, nil
	}
	chain, _, err := a.RequiredSecret(c.Chain, store)
	if err != nil {
		return nil, err
	}
	key, _, err := a.RequiredSecret(c.Key, store)
	return &webhook.Certificate{Chain: chain, Key: key}, err
}

// TokenRequest asks for an access token.
type TokenRequest struct {
	Business   core.BusinessID
	Platform   string
	Store      string // ref_id; "": unknown
	Credential string
	OAuth2     *OAuth2
	Access     Access
	Rejected   string // a token that the aggregator rejected, which is not returned again; "": none
}

// Token is an access token.
type Token struct {
	Value   string
	Fresh   bool     // it was requested for this call
	Request *Attempt // the token request that was made for this call, also with an error; nil: none
}

// RejectedTokenError means that the aggregator rejected a token that was renewed shortly before because of that.
type RejectedTokenError struct {
	Credential string
	Next       time.Time // of the next renewal
	Repeated   bool      // the tokens of several renewals were rejected, so the 401 is not about them
}

// Error returns the message, which is for people.
func (e RejectedTokenError) Error() string {
	return fmt.Sprintf("the aggregator rejected the new access token of the credential %q: the next renewal is at %s",
		e.Credential, e.Next.UTC().Format(time.RFC3339))
}

// AccessTokens provides access tokens. It returns a MissingSettingError if nothing can be requested, and a
// RejectedTokenError if a rejected token is not renewed now. With any other error the aggregator rejected the
// credentials, or could not be reached. Errors are for people, and have no secrets.
type AccessTokens interface {
	Token(ctx context.Context, request TokenRequest) (Token, error)
}

// credentialClass is the error class of an attempt that failed for lack of an access token.
const credentialClass = "credentials"

// addToken sets the header with an access token.
func (o OAuth2) addToken(r *Request, credential, token string) error {
	value := strings.Replace(cmp.Or(o.Template, "Bearer {token}"), "{token}", token, 1)
	if !httpguts.ValidHeaderFieldValue(value) {
		return missingSetting("the token of the credential %q has a character that is not allowed in a header",
			credential)
	}
	r.Secrets[cmp.Or(o.Header, "Authorization")] = value
	return nil
}

// sign sets the headers of a signature. The other headers are not signed.
func (s Signature) sign(r *Request, key string, now time.Time) error {
	target, err := url.Parse(r.URL)
	if err != nil {
		return err
	}
	timestamp := s.Timestamp.format(now)
	sum := s.Scheme.Sum([]byte(key), signature.Request{Method: r.Method, Path: target.EscapedPath(),
		Query: target.RawQuery, Timestamp: timestamp, Body: r.Body})
	r.Headers[s.Header] = strings.NewReplacer("{signature}", sum, "{timestamp}",
		timestamp).Replace(cmp.Or(s.Value, "{signature}"))
	if s.TimestampHeader != "" {
		r.Headers[s.TimestampHeader] = timestamp
	}
	return nil
}
