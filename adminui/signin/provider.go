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
)

// Provider vouches for people. back is the address of the hub to which they come
// back; secret is known to the browser that began alone.
type Provider interface {
	SignInURL(ctx context.Context, secret, back string) (address string, err error)
	Verify(ctx context.Context, secret, back, state, code string) (email string, err error)
}

// providerTimeout is how long a person may take at the provider.
const providerTimeout = 10 * time.Minute

// callbackURL is where the provider sends people back to.
func (p Pages) callbackURL(c *fiber.Ctx) string {
	base := p.BaseURL
	if base == "" {
		base = c.BaseURL()
	}
	return strings.TrimSuffix(base, "/") + shell.ProviderBackPath
}

// ToProvider sends the visitor to the identity provider. A cookie holds what ties
// the way back to this browser, and the page to go on to.
func (p Pages) ToProvider(c *fiber.Ctx) error {
	secret := core.NewToken()
	address, err := p.Provider.SignInURL(c.UserContext(), secret, p.callbackURL(c))
	if err != nil {
		return p.showProblem(c, err)
	}
	shell.SetProviderState(c, secret+"."+base64.RawURLEncoding.EncodeToString([]byte(shell.LocalPath(c.Query("next")))), providerTimeout)
	return c.Redirect(address, http.StatusSeeOther)
}

// FromProvider starts the session of whom the provider vouches for.
func (p Pages) FromProvider(c *fiber.Ctx) error {
	secret, encoded, _ := strings.Cut(shell.ProviderState(c), ".")
	shell.SetProviderState(c, "", 0)
	if told := strings.Clone(c.Query("error")); told != "" {
		return p.showProblem(c, core.Errorf(core.Forbidden, "%s", fmt.Sprintf(text.ProviderRejected, told)))
	}
	email, err := p.Provider.Verify(c.UserContext(), secret, p.callbackURL(c), strings.Clone(c.Query("state")),
		strings.Clone(c.Query("code")))
	if err != nil {
		return p.showProblem(c, err)
	}
	token, err := p.Accounts.SignInByProvider(c.UserContext(), email, shell.SessionOf(c))
	if err != nil {
		return p.showProblem(c, err)
	}
	shell.SetSession(c, token)
	next, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		next = nil
	}
	return c.Redirect(shell.LocalPath(string(next)), http.StatusSeeOther)
}

// showProblem shows the sign-in page with what went wrong.
func (p Pages) showProblem(c *fiber.Ctx, err error) error {
	status, problem := p.Problem(c, err)
	return ui.Write(c, status, signInPage(p.publicView(c, problem)))
}
