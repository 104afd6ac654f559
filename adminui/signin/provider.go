package signin

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
)

// Provider is an identity provider. back is the callback URL of the hub. Only the browser that began the sign-in has
// the secret.
type Provider interface {
	SignInURL(ctx context.Context, secret, back string) (address string, err error)
	Verify(ctx context.Context, secret, back, state, code string) (email string, err error)
}

// providerTimeout bounds the time that a sign-in at the provider may take.
const providerTimeout = 10 * time.Minute

// callbackURL returns the URL where the provider redirects after a sign-in.
func (p Pages) callbackURL(c *fiber.Ctx) string {
	base := p.BaseURL
	if base == "" {
		base = c.BaseURL()
	}
	return strings.TrimSuffix(base, "/") + shell.ProviderBackPath
}

// ToProvider redirects to the identity provider. A cookie ties the callback to this browser and has the page to open
// afterwards.
func (p Pages) ToProvider(c *fiber.Ctx) error {
	secret := core.NewToken()
	address, err := p.Provider.SignInURL(c.UserContext(), secret, p.callbackURL(c))
	if err != nil {
		return p.showProblem(c, err)
	}
	next := base64.RawURLEncoding.EncodeToString([]byte(shell.LocalPath(c.Query("next"))))
	shell.ProviderCookie.Set(c, secret+"."+next, providerTimeout)
	return c.Redirect(address, http.StatusSeeOther)
}

// FromProvider starts a session for the user that the provider has authenticated.
func (p Pages) FromProvider(c *fiber.Ctx) error {
	secret, encoded, _ := strings.Cut(shell.ProviderCookie.Of(c), ".")
	shell.ProviderCookie.Set(c, "", 0)
	if reason := strings.Clone(c.Query("error")); reason != "" {
		return p.showProblem(c, core.Errorf(core.Forbidden, "%s", fmt.Sprintf(text.ProviderRejected, reason)))
	}
	email, err := p.Provider.Verify(c.UserContext(), secret, p.callbackURL(c), strings.Clone(c.Query("state")),
		strings.Clone(c.Query("code")))
	if err != nil {
		return p.showProblem(c, err)
	}
	token, err := p.Accounts.SignInByProvider(c.UserContext(), email, shell.SessionCookie.Of(c))
	if err != nil {
		return p.showProblem(c, err)
	}
	shell.SessionCookie.Set(c, token, access.SessionLifetime)
	next, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		next = nil
	}
	return c.Redirect(shell.LocalPath(string(next)), http.StatusSeeOther)
}

// showProblem shows the sign-in page with an error.
func (p Pages) showProblem(c *fiber.Ctx, err error) error {
	status, problem := p.Problem(c, err)
	return ui.Write(c, status, signInPage(p.publicView(c, problem)))
}
