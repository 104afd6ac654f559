// Package shell has what all pages of the console share: the guards, the frame and live updates.
package shell

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/inbound"
	"github.com/servery-hub/servery/core/limit"
)

// URLs of pages.
const (
	Root             = "/console/"
	SignInPath       = Root + "sign-in/"
	SignOutPath      = Root + "sign-out/"
	WelcomePath      = Root + "welcome/"
	ProviderPath     = SignInPath + "provider/"
	ProviderBackPath = ProviderPath + "back/"
	SearchPath       = Root + "search/"
	AccountPath      = Root + "account/"
	ThemePath        = Root + "theme/"
	ZonePath         = Root + "zone/"
	DensityPath      = Root + "density/"
	KeysPath         = Root + "keys/"
	ColumnsPath      = Root + "columns/"
	UsersPath        = Root + "users/"
	AuditPath        = Root + "audit/"
	LivePath         = Root + "live/"
	PluginsPath      = Root + "plugins/"
	ProblemsPath     = Root + "problems/"
	// The URL where aggregators redirect after a login of a merchant.
	PlatformLoginPath = Root + "platform-login/"
)

// Businesses returns businesses sorted by name. nil among means all.
type Businesses interface {
	Businesses(ctx context.Context, among []core.BusinessID, limit int) ([]core.Business, error)
}

// Shell mounts the pages with their guards and frames.
type Shell struct {
	Accounts   access.Accounts
	Businesses Businesses
	Views      SavedViews
	Pages      []Page // in the order of the navigation
	Live       *Live
	Memory     *limit.Memory  // for forms; nil: unlimited
	Proxies    []netip.Prefix // whose X-Forwarded-For is trusted
	Slots      *Slots         // of pages that are read at once; nil: unlimited
	Clock      core.Clock
	Log        *slog.Logger
}

// PageContext is a request of a signed-in user.
type PageContext struct {
	look
	User      access.User
	Business  core.Business  // zero on pages of no business
	Zone      *time.Location // in which times are shown
	Now       time.Time
	UTC       bool           // times are shown in UTC, not in the zone of the business
	local     *time.Location // zone of the business
	Path      string
	Query     url.Values
	Done      string // the message after an action
	formError error  // of the submitted form, for Redisplay
	session   string
	list      *viewList // the list of the page; nil: none with saved views
	shell     *Shell
	switcher  []core.Business
}

// Token returns the token that proves that a form was rendered for this session.
func (v *PageContext) Token() string { return access.FormToken(v.session) }

// Session returns the token of the session.
func (v *PageContext) Session() string { return v.session }

// Link returns a URL in the business of the page.
func (v *PageContext) Link(path string) string { return BusinessLink(v.Business.ID, path) }

// BusinessLink returns a URL in a business.
func BusinessLink(id core.BusinessID, path string) string {
	return Root + "b/" + strconv.FormatInt(int64(id), 10) + "/" + path
}

// PlatformLink returns the URL of the settings of a platform.
func PlatformLink(business core.BusinessID, name string) string {
	return BusinessLink(business, "settings/platform/?name="+url.QueryEscape(name))
}

// MayAct reports whether the user may change anything.
func (v *PageContext) MayAct() bool { return v.User.Role.AtLeast(access.Support) }

// At returns an instant for display on this page.
func (v *PageContext) At(at time.Time) ui.Instant {
	return ui.Instant{At: at, Now: v.Now, Zone: v.Zone}
}

// LocalNow returns the present in the zone of the business, which its hours and days follow in whichever zone times are
// shown.
func (v *PageContext) LocalNow() time.Time { return v.Now.In(v.local) }

// Visible returns the businesses that the user may see. nil means all.
func (v *PageContext) Visible() []core.BusinessID {
	if v.User.Role == access.Admin {
		return nil
	}
	if v.User.Businesses == nil {
		return []core.BusinessID{}
	}
	return v.User.Businesses
}

// Change returns the audit entry of this request, without its object.
func (v *PageContext) Change(c *fiber.Ctx, action string) access.Change {
	return access.Change{Business: v.Business.ID, Actor: v.User.Actor(), Action: action, Why: Field(c, "why")}
}

// Handler answers a request of a signed-in user.
type Handler func(c *fiber.Ctx, v *PageContext) error

// guardPage runs handle for a signed-in user with at least the role least who may see the business of the URL.
func (s *Shell) guardPage(least access.Role, handle Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		v, err := s.pageContext(c)
		if core.CodeOf(err) == core.Unauthenticated {
			return s.redirectToSignIn(c)
		}
		if err == nil {
			err = s.authorize(c, v, least)
		}
		if err == nil {
			err = handle(c, v)
		}
		if err != nil {
			return s.fail(c, v, err)
		}
		return nil
	}
}

// busyPause is when a page that was busy may be requested again.
const busyPause = 5 * time.Second

// guardForm is guardPage for a form. It also checks the origin and the token of the form. Forms that a viewer may not
// submit need a reason.
func (s *Shell) guardForm(least access.Role, handle Handler) fiber.Handler {
	return s.guardPage(access.Viewer, func(c *fiber.Ctx, v *PageContext) error {
		if err := CheckSameOrigin(c); err != nil {
			return err
		}
		return s.withForm(c, limit.Small, func() error {
			if !access.ValidFormToken(v.session, Field(c, "token")) {
				return core.Errorf(core.Forbidden, text.FormOld)
			}
			if err := s.authorize(c, v, least); err != nil {
				return err
			}
			if least != access.Viewer && strings.TrimSpace(Field(c, "why")) == "" {
				return core.Errorf(core.Invalid, text.WhyMissing)
			}
			return handle(c, v)
		})
	})
}

// CheckSameOrigin returns Forbidden for a form of another site. It checks Sec-Fetch-Site, or Origin if that header is
// missing.
func CheckSameOrigin(c *fiber.Ctx) error {
	if site := c.Get("Sec-Fetch-Site"); site != "" {
		if site == "same-origin" {
			return nil
		}
		return core.Errorf(core.Forbidden, text.FormOld)
	}
	origin, err := url.Parse(c.Get(fiber.HeaderOrigin))
	if err != nil || origin.Host == "" || origin.Host != string(c.Request().Host()) {
		return core.Errorf(core.Forbidden, text.FormOld)
	}
	return nil
}

func (s *Shell) pageContext(c *fiber.Ctx) (*PageContext, error) {
	token := SessionCookie.Of(c)
	user, err := s.Accounts.UserBySession(c.UserContext(), token)
	if err != nil {
		return nil, err
	}
	inbound.MarkAuthenticated(c.Context().Conn())
	query, err := url.ParseQuery(string(c.Request().URI().QueryString()))
	if err != nil {
		err = core.Errorf(core.Invalid, text.FilterWrong)
	}
	v := &PageContext{User: user, Zone: time.UTC, local: time.UTC, Now: s.Clock.Now(), look: lookOf(c),
		UTC:  zonePreference.of(c) != "",
		Path: strings.Clone(c.Path()), Query: query, session: token, shell: s}
	v.Done = s.doneMessage(query.Get("done"))
	delete(query, "done")
	return v, err
}

// switcherShown bounds the businesses in the switcher.
const switcherShown = 30

func (s *Shell) authorize(c *fiber.Ctx, v *PageContext, least access.Role) error {
	if v.switcher == nil {
		var err error
		if v.switcher, err = s.Businesses.Businesses(c.UserContext(), v.Visible(), switcherShown+1); err != nil {
			return err
		}
	}
	if param := c.Params("business"); param != "" && v.Business.ID == 0 {
		id, err := strconv.ParseInt(param, 10, 64)
		if err != nil || !v.User.CanAccess(core.BusinessID(id)) {
			return core.Errorf(core.NotFound, text.NotFound)
		}
		found, err := s.Businesses.Businesses(c.UserContext(), []core.BusinessID{core.BusinessID(id)}, 1)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return core.Errorf(core.NotFound, text.NotFound)
		}
		v.Business = found[0]
		if zone, err := time.LoadLocation(v.Business.Timezone); err == nil {
			if v.local = zone; !v.UTC {
				v.Zone = zone
			}
		}
	}
	if !slices.Contains(access.Roles(), least) || !v.User.Role.AtLeast(least) { // an invalid least role allows no user
		return core.Errorf(core.Forbidden, text.MayNot)
	}
	return nil
}

// redirectToSignIn redirects to the sign-in page, which returns here. For a form it returns to the page of the form and
// reports that nothing was done. For a htmx request, the browser reloads the whole page.
func (s *Shell) redirectToSignIn(c *fiber.Ctx) error {
	if c.Get("HX-Request") != "" {
		c.Set("HX-Refresh", "true")
		return c.SendStatus(http.StatusNoContent)
	}
	query := url.Values{"next": {string(c.Request().URI().RequestURI())}}
	if c.Method() != http.MethodGet {
		query = url.Values{"next": {refererPath(c)}, "lost": {"1"}}
	}
	return c.Redirect(SignInPath+"?"+query.Encode(), http.StatusSeeOther)
}

// RedirectDone redirects to a URL after an action. The page shows the message of the keyword done.
func RedirectDone(c *fiber.Ctx, address, done string) error {
	if done != "" {
		separator := "?"
		if strings.Contains(address, "?") {
			separator = "&"
		}
		address += separator + "done=" + done
	}
	return c.Redirect(address, http.StatusSeeOther)
}

// VisibleBusinesses returns at most limit businesses that the user may see, and their ids.
func (v *PageContext) VisibleBusinesses(ctx context.Context, limit int) ([]core.Business, []core.BusinessID, error) {
	list, err := v.shell.Businesses.Businesses(ctx, v.Visible(), limit)
	ids := make([]core.BusinessID, len(list))
	for i, business := range list {
		ids[i] = business.ID
	}
	return list, ids, err
}

// BusinessNames returns the names of businesses.
func (v *PageContext) BusinessNames(ctx context.Context,
	ids []core.BusinessID) (map[core.BusinessID]string, error) {
	list, err := v.shell.Businesses.Businesses(ctx, ids, len(ids))
	names := make(map[core.BusinessID]string, len(list))
	for _, business := range list {
		names[business.ID] = business.Name
	}
	return names, err
}

// WelcomeURL returns the one-time link for a token, at a hub's URL.
func WelcomeURL(base, token string) string {
	return strings.TrimSuffix(base, "/") + WelcomePath + "?link=" + token
}
