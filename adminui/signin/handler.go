// Package signin has the pages of sign-in, with a password, a one-time link or an identity provider, and of the user's
// account.
package signin

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
)

// Pages are the pages of sign-in.
type Pages struct {
	*shell.Shell
	Provider Provider // nil: no identity provider
	BaseURL  string   // of the hub for people; "": as in the request
}

// Page returns the descriptor of the pages.
func (p Pages) Page() shell.Page {
	page := shell.Page{Path: shell.AccountPath,
		Routes: []shell.Route{
			shell.Get(shell.AccountPath, access.Viewer, p.Account),
			shell.Post(shell.AccountPath, access.Viewer, p.ChangePassword),
			shell.Post(shell.SignOutPath, access.Viewer, p.SignOut),
		},
		Public: []shell.PublicRoute{
			{Method: fiber.MethodGet, Path: shell.SignInPath, Handle: p.SignIn},
			{Method: fiber.MethodPost, Path: shell.SignInPath, Handle: p.SubmitSignIn},
			{Method: fiber.MethodGet, Path: shell.WelcomePath, Handle: p.Welcome},
			{Method: fiber.MethodPost, Path: shell.WelcomePath, Handle: p.UseLink},
		},
		Done: map[string]string{"password": text.PasswordsDone}}
	if p.Provider != nil {
		page.Public = append(page.Public,
			shell.PublicRoute{Method: fiber.MethodGet, Path: shell.ProviderPath, Handle: p.ToProvider},
			shell.PublicRoute{Method: fiber.MethodGet, Path: shell.ProviderBackPath, Handle: p.FromProvider})
	}
	return page
}

// publicView is the data of a page before sign-in.
type publicView struct {
	theme, problem string
	email, next    string
	link           string
	provider       string // URL of sign-in with the identity provider; "": none
	hasPassword    bool   // has a password already
}

// publicView returns the data of the sign-in page.
func (p Pages) publicView(c *fiber.Ctx, problem string) publicView {
	v := publicView{theme: shell.ThemeOf(c), problem: problem, next: shell.LocalPath(c.Query("next"))}
	if p.Provider != nil {
		v.provider = shell.ProviderPath + "?next=" + url.QueryEscape(v.next)
	}
	return v
}

// SignIn shows the sign-in form.
func (p Pages) SignIn(c *fiber.Ctx) error {
	problem := ""
	if c.Query("lost") != "" {
		problem = text.SessionLost
	}
	return ui.Write(c, http.StatusOK, signInPage(p.publicView(c, problem)))
}

// SubmitSignIn checks a password and starts a session.
func (p Pages) SubmitSignIn(c *fiber.Ctx) error {
	v := p.publicView(c, "")
	v.email, v.next = shell.Field(c, "email"), shell.LocalPath(shell.Field(c, "next"))
	err := shell.CheckSameOrigin(c)
	if err == nil {
		var token string
		token, err = p.Accounts.SignIn(c.UserContext(), v.email, shell.Field(c, "password"), clientIP(c, p.Proxies),
			shell.SessionCookie.Of(c))
		if err == nil {
			shell.SessionCookie.Set(c, token, access.SessionLifetime)
			return c.Redirect(v.next, http.StatusSeeOther)
		}
	}
	status, problem := p.Problem(c, err)
	v.problem = problem
	return ui.Write(c, status, signInPage(v))
}

// Welcome shows the user of a one-time link. It does not use up the link.
func (p Pages) Welcome(c *fiber.Ctx) error {
	return p.welcome(c, strings.Clone(c.Query("link")), nil)
}

func (p Pages) welcome(c *fiber.Ctx, link string, problem error) error {
	v := publicView{theme: shell.ThemeOf(c), link: link}
	user, err := p.Accounts.LinkUser(c.UserContext(), link)
	if err != nil {
		status, words := p.Problem(c, err)
		v.problem = words
		if status < http.StatusInternalServerError {
			return ui.Write(c, status,
				noLinkPage(v, text.LinkOver, ui.Link{Href: shell.SignInPath, Label: text.SignIn}))
		}
		return ui.Write(c, status,
			noLinkPage(v, shell.ErrorTitle(status),
				ui.Link{Href: shell.WelcomePath + "?link=" + url.QueryEscape(link), Label: text.TryAgain}))
	}
	status := http.StatusOK
	if problem != nil {
		status, v.problem = p.Problem(c, problem)
	}
	v.email, v.hasPassword = user.Email, user.Password != ""
	return ui.Write(c, status, welcomePage(v))
}

// UseLink uses up a link: it sets or keeps the password and starts a session.
func (p Pages) UseLink(c *fiber.Ctx) error {
	link, password := shell.Field(c, "link"), shell.Field(c, "password")
	if shell.Field(c, "keep") != "" {
		password = ""
	}
	err := shell.CheckSameOrigin(c)
	if err == nil {
		var token string
		if token, err = p.Accounts.UseLink(c.UserContext(), link, password, shell.SessionCookie.Of(c)); err == nil {
			shell.SessionCookie.Set(c, token, access.SessionLifetime)
			return c.Redirect(shell.Root, http.StatusSeeOther)
		}
	}
	return p.welcome(c, link, err)
}

// SignOut ends the session.
func (p Pages) SignOut(c *fiber.Ctx, v *shell.PageContext) error {
	if err := p.Accounts.SignOut(c.UserContext(), v.Session()); err != nil {
		return err
	}
	p.Live.End(v.Session())
	shell.SessionCookie.Set(c, "", 0)
	return c.Redirect(shell.SignInPath, http.StatusSeeOther)
}

// Account shows the user's own account.
func (p Pages) Account(c *fiber.Ctx, v *shell.PageContext) error {
	return v.Show(c, shell.Head{Title: text.Account, Note: v.User.Email}, accountPage(v, ""))
}

// ChangePassword sets a new password.
func (p Pages) ChangePassword(c *fiber.Ctx, v *shell.PageContext) error {
	err := p.Accounts.ChangePassword(c.UserContext(), v.User, shell.Field(c, "present"), shell.Field(c, "password"),
		v.Session())
	if code := core.CodeOf(err); code == core.Invalid || code == core.Throttled {
		return v.Show(c, shell.Head{Title: text.Account, Note: v.User.Email}, accountPage(v, v.ErrorMessage(c, err)))
	}
	if err != nil {
		return err
	}
	return shell.RedirectDone(c, shell.AccountPath, "password")
}

func (v publicView) greeting() string {
	if v.hasPassword {
		return fmt.Sprintf(text.WelcomeBack, v.email)
	}
	return fmt.Sprintf(text.WelcomeText, v.email)
}
