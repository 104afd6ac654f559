package settings

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/relay"
)

// loginTimeout bounds the time that a login at an aggregator may take.
const loginTimeout = 10 * time.Minute

// loginFacts links to the logins of a platform.
func loginFacts(v *shell.PageContext, platform console.PlatformSettings, declared []string) (facts []ui.Fact) {
	for _, name := range declared {
		cell := ui.T(text.LoginByOthers)
		if v.MayAct() {
			cell = ui.LinkCell(text.LogIn, v.Link("settings/login/?"+
				url.Values{"name": {platform.Name}, "credential": {name}}.Encode()))
		}
		facts = append(facts, ui.Fact{Label: fmt.Sprintf(text.LoginOf, name), Cell: cell})
	}
	return facts
}

// loginBack returns the URL where aggregators redirect after a login.
func loginBack(base string) string { return strings.TrimSuffix(base, "/") + shell.PlatformLoginPath }

// login returns the login of a credential of a platform.
func (p Pages) login(c *fiber.Ctx, v *shell.PageContext, name, credential, secret string) (console.Login,
	console.PlatformSettings, error) {
	platform, err := p.find(c.UserContext(), v, name)
	return console.Login{Business: v.Business.ID, Credential: credential, Secret: secret,
		Platform: core.Platform{Name: platform.Name, ServedBy: platform.ServedBy},
		Back:     loginBack(cmp.Or(p.BaseURL, c.BaseURL()))}, platform, err
}

// LogIn links to the aggregator. A cookie ties the redirect back to this browser, business and credential.
func (p Pages) LogIn(c *fiber.Ctx, v *shell.PageContext) error {
	name, credential := v.Query.Get("name"), v.Query.Get("credential")
	login, platform, err := p.login(c, v, name, credential, core.NewToken())
	if err != nil {
		return err
	}
	head := shell.Head{Title: text.LogIn, Note: fmt.Sprintf(text.LoginNote, credential),
		Parent: ui.Link{Href: platformLink(v, platform.Name), Label: platform.Name}}
	facts := []ui.Fact{{Label: text.LoginBack, Cell: ui.Cell{Text: login.Back, Code: true, Note: text.LoginBackNote}}}
	address, err := p.Logins.LoginURL(c.UserContext(), login)
	switch target, _ := url.Parse(address); {
	case core.CodeOf(err) == core.Invalid:
		head.Causes = []ui.Cause{{State: ui.Err, Text: v.ErrorMessage(c, err)}}
	case err != nil:
		return err
	default:
		facts = append(facts, ui.Fact{Label: text.LoginAt, Cell: ui.LinkCell(target.Host, address)})
		state := url.Values{"business": {strconv.FormatInt(int64(v.Business.ID), 10)}, "name": {platform.Name},
			"credential": {credential}, "secret": {login.Secret}}
		shell.LoginCookie.Set(c, state.Encode(), loginTimeout)
	}
	return v.Show(c, head, ui.FactsOf(facts))
}

// ReturnFromLogin redirects to the business whose login it is. Aggregators know one URL for all businesses.
func (p Pages) ReturnFromLogin(c *fiber.Ctx, v *shell.PageContext) error {
	state, err := url.ParseQuery(shell.LoginCookie.Of(c))
	business, invalid := strconv.ParseInt(state.Get("business"), 10, 64)
	if err != nil || invalid != nil {
		return showLoginProblem(c, v, text.LoginElsewhere)
	}
	return c.Redirect(shell.BusinessLink(core.BusinessID(business), "settings/login/done/?"+
		string(c.Request().URI().QueryString())), http.StatusSeeOther)
}

// FinishLogin stores the refresh token that the aggregator grants.
func (p Pages) FinishLogin(c *fiber.Ctx, v *shell.PageContext) error {
	state, err := url.ParseQuery(shell.LoginCookie.Of(c))
	if err != nil || state.Get("business") != strconv.FormatInt(int64(v.Business.ID), 10) {
		return showLoginProblem(c, v, text.LoginElsewhere)
	}
	shell.LoginCookie.Set(c, "", 0)
	login, platform, err := p.login(c, v, state.Get("name"), state.Get("credential"), state.Get("secret"))
	if err != nil {
		return err
	}
	if reason := v.Query.Get("error"); reason != "" {
		return showLoginProblem(c, v, fmt.Sprintf(text.LoginRejected, reason))
	}
	secret, token, err := p.Logins.RefreshToken(c.UserContext(), login, v.Query.Get("state"), v.Query.Get("code"))
	if code := core.CodeOf(err); code == core.Invalid || code == core.Unavailable {
		return showLoginProblem(c, v, v.ErrorMessage(c, err)) // an error page would link to this URL, which works once
	}
	if err == nil {
		err = p.Platforms.SetPlatform(c.UserContext(), v.Business.ID, login.Platform,
			relay.AccessUpdate{Version: platform.Version, Set: func(a *relay.Access) error {
				a.Secrets = merge(a.Secrets, map[string]string{secret: token})
				return nil
			}}, v.Change(c, "platform.login"))
	}
	if err != nil {
		return err
	}
	return c.Redirect(platformLink(v, platform.Name)+"&done=login", http.StatusSeeOther)
}

// showLoginProblem shows why a login failed.
func showLoginProblem(c *fiber.Ctx, v *shell.PageContext, problem string) error {
	cause := ui.Cause{State: ui.Err, Text: problem}
	if v.Business.ID != 0 {
		cause.Link = ui.Link{Href: v.Link("settings/"), Label: text.Settings}
	}
	return v.Show(c, shell.Head{Title: text.LogIn, Causes: []ui.Cause{cause}}, templ.NopComponent)
}
