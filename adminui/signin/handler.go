// Package signin is where people come in to the console and go out: signing in
// with a password or a one-time link, the password, signing out.
package signin

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
)

// Pages are the pages of signing in.
type Pages struct {
	*shell.Shell
	Provider Provider // nil: people sign in by passwords and links alone
	BaseURL  string   // of the hub as people reach it; "" as the request came
	Proxies  []netip.Prefix
}

// doorView is a page before signing in.
type doorView struct {
	theme, problem string
	email, next    string
	link           string
	provider       string // where people sign in by the identity provider; "": there is none
	has            bool   // a password already
}

// door is the sign-in page as this request asks for it.
func (p Pages) door(c *fiber.Ctx, problem string) doorView {
	v := doorView{theme: shell.ThemeOf(c), problem: problem, next: shell.Inside(c.Query("next"))}
	if p.Provider != nil {
		v.provider = shell.ProviderPath + "?next=" + url.QueryEscape(v.next)
	}
	return v
}

// SignIn shows the form.
func (p Pages) SignIn(c *fiber.Ctx) error {
	problem := ""
	if c.Query("lost") != "" {
		problem = text.SessionLost
	}
	return ui.Write(c, http.StatusOK, signInPage(p.door(c, problem)))
}

// Enter checks a password and starts a session.
func (p Pages) Enter(c *fiber.Ctx) error {
	v := p.door(c, "")
	v.email, v.next = strings.Clone(c.FormValue("email")), shell.Inside(c.FormValue("next"))
	err := shell.FromOurPage(c)
	if err == nil {
		var token string
		token, err = p.Accounts.SignIn(c.UserContext(), v.email, strings.Clone(c.FormValue("password")), addressOf(c, p.Proxies), shell.SessionOf(c))
		if err == nil {
			shell.SetSession(c, token)
			return c.Redirect(v.next, http.StatusSeeOther)
		}
	}
	status, problem := p.Problem(c, err)
	v.problem = problem
	return ui.Write(c, status, signInPage(v))
}

// Welcome shows whose one-time link it is; looking does not use it up.
func (p Pages) Welcome(c *fiber.Ctx) error {
	return p.welcome(c, strings.Clone(c.Query("link")), nil)
}

func (p Pages) welcome(c *fiber.Ctx, link string, problem error) error {
	v := doorView{theme: shell.ThemeOf(c), link: link}
	user, err := p.Accounts.LinkUser(c.UserContext(), link)
	if err != nil {
		status, words := p.Problem(c, err)
		v.problem = words
		if status < http.StatusInternalServerError {
			return ui.Write(c, status, noLinkPage(v, text.LinkOver, ui.Link{Href: shell.SignInPath, Label: text.SignIn}))
		}
		return ui.Write(c, status, noLinkPage(v, shell.TitleOf(status), ui.Link{Href: shell.WelcomePath + "?link=" + url.QueryEscape(link), Label: text.TryAgain}))
	}
	status := http.StatusOK
	if problem != nil {
		status, v.problem = p.Problem(c, problem)
	}
	v.email, v.has = user.Email, user.Password != ""
	return ui.Write(c, status, welcomePage(v))
}

// UseLink uses a link up: the password is set, or kept, and a session starts.
func (p Pages) UseLink(c *fiber.Ctx) error {
	link, password := strings.Clone(c.FormValue("link")), strings.Clone(c.FormValue("password"))
	if c.FormValue("keep") != "" {
		password = ""
	}
	err := shell.FromOurPage(c)
	if err == nil {
		var token string
		if token, err = p.Accounts.UseLink(c.UserContext(), link, password, shell.SessionOf(c)); err == nil {
			shell.SetSession(c, token)
			return c.Redirect(shell.Root, http.StatusSeeOther)
		}
	}
	return p.welcome(c, link, err)
}

// SignOut ends the session.
func (p Pages) SignOut(c *fiber.Ctx, v *shell.Visit) error {
	if err := p.Accounts.SignOut(c.UserContext(), v.Session()); err != nil {
		return err
	}
	p.Live.End(v.Session())
	shell.SetSession(c, "")
	return c.Redirect(shell.SignInPath, http.StatusSeeOther)
}

// Account shows the user's own account.
func (p Pages) Account(c *fiber.Ctx, v *shell.Visit) error {
	return v.Show(c, shell.Head{Title: text.Account, Note: v.User.Email}, accountPage(v, ""))
}

// ChangePassword sets a new password.
func (p Pages) ChangePassword(c *fiber.Ctx, v *shell.Visit) error {
	err := p.Accounts.ChangePassword(c.UserContext(), v.User, strings.Clone(c.FormValue("present")), strings.Clone(c.FormValue("password")), v.Session())
	if code := core.CodeOf(err); code == core.Invalid || code == core.Throttled {
		return v.Show(c, shell.Head{Title: text.Account, Note: v.User.Email}, accountPage(v, v.Refused(c, err)))
	}
	if err != nil {
		return err
	}
	return shell.Then(c, shell.AccountPath, "password")
}

func (v doorView) greeting() string {
	if v.has {
		return fmt.Sprintf(text.WelcomeBack, v.email)
	}
	return fmt.Sprintf(text.WelcomeText, v.email)
}
