// Package settings shows and changes the settings of a business and its platforms. Secrets are set but never shown. A
// callback key is shown once.
package settings

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
)

// Platforms reads and changes the platforms of a business.
type Platforms interface {
	ListPlatforms(ctx context.Context, business core.BusinessID) ([]console.PlatformSettings, error)
	SetPlatform(ctx context.Context, business core.BusinessID, platform core.Platform, update relay.AccessUpdate,
		change access.Change) error
}

// CallbackKeys creates and revokes callback keys: credentials of platforms for calls to the hub.
type CallbackKeys interface {
	AddCallbackKey(ctx context.Context, business core.BusinessID, platform string, hash []byte,
		change access.Change) error
	DropCallbackKeys(ctx context.Context, business core.BusinessID, platform string, change access.Change) error
}

// Monitoring reads and changes the monitoring rules of a business.
type Monitoring interface {
	MonitoringRules(ctx context.Context, business core.BusinessID) (console.MonitoringRules, error)
	SetMonitoringRules(ctx context.Context, business core.BusinessID, set func(*console.MonitoringRules) error,
		change access.Change) error
}

// Plugins lists plugins, and checks settings and URLs with them.
type Plugins interface {
	ListPlugins(ctx context.Context, businesses []core.BusinessID) ([]console.Plugin, error)
	CheckSettings(ctx context.Context, plugin string, business core.BusinessID, platform string, settings []byte) error
	CheckAddress(ctx context.Context, plugin, endpoint, address string) error
}

// Logins sends merchants to aggregators to log in.
type Logins interface {
	LoginURL(ctx context.Context, login console.Login) (string, error)
	RefreshToken(ctx context.Context, login console.Login, state, code string) (secret, token string, err error)
}

// Pages are the pages of settings.
type Pages struct {
	Platforms    Platforms
	Keys         CallbackKeys
	Monitoring   Monitoring
	Listing      Listing
	Aliases      Aliases
	PersonalData PersonalData
	Plugins      Plugins
	Logins       Logins
	BaseURL      string // of the hub for others; "": as in the request
	Clock        core.Clock
}

// Page returns the descriptor of the pages.
func (p Pages) Page() shell.Page {
	const path = shell.BusinessPath + "settings/"
	return shell.Page{Path: path, Label: text.Settings,
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.List),
			shell.Post(path+"platforms/", access.Support, p.Add),
			shell.Post(path+"watching/", access.Support, p.SetMonitoring),
			shell.Post(path+"listing/", access.Support, p.ListStores),
			shell.Post(path+"personal-data/", access.Admin, p.KeepPersonalData),
			shell.Post(path+"alias/", access.Support, p.AddAlias),
			shell.Post(path+"alias/sent/", access.Support, p.SendAlias),
			shell.Post(path+"alias/remove/", access.Support, p.RemoveAlias),
			shell.Get(path+"platform/", access.Viewer, p.One),
			shell.Post(path+"platform/", access.Support, p.Save),
			shell.Get(path+"login/", access.Support, p.LogIn),
			shell.Get(path+"login/done/", access.Support, p.FinishLogin).WithoutSlot(),
			shell.Get(shell.PlatformLoginPath, access.Support, p.ReturnFromLogin),
			shell.Post(path+"callback/", access.Support, p.CreateCallbackKey),
			shell.Post(path+"callback/drop/", access.Support, p.DropCallbackKeys),
		},
		Done: map[string]string{"stored": text.Stored, "login": text.LoggedIn}}
}

// platformLink returns the URL of the page of a platform.
func platformLink(v *shell.PageContext, platform string) string {
	return v.Link("settings/platform/?name=" + url.QueryEscape(platform))
}

// List shows the platforms of a business.
func (p Pages) List(c *fiber.Ctx, v *shell.PageContext) error {
	found, err := p.Platforms.ListPlatforms(c.UserContext(), v.Business.ID)
	if err != nil {
		return err
	}
	list := ui.List{Name: text.Platforms, EmptyTitle: text.NoPlatformsTitle, EmptyText: text.NoPlatformsText,
		Columns: []ui.Column{
			{Label: text.Platform}, {Label: text.ServedBy}, {Label: text.PlatformSettings, Kind: ui.Wide},
			{Label: text.Addresses, Kind: ui.Figure}, {Label: text.Secrets, Kind: ui.Figure},
			{Label: text.CallbackKeys, Kind: ui.Figure}}}
	for _, platform := range found {
		served := ui.T(text.Own)
		if platform.ServedBy != core.ServedByMerchant {
			served = ui.LinkCell(platform.ServedBy, shell.PluginsPath+platform.ServedBy+"/")
		}
		list.AddAt(platform.Name,
			ui.Cell{Text: platform.Name, Href: platformLink(v, platform.Name), Note: aliasNote(platform)}, served,
			ui.CodeCell(string(platform.Settings)), ui.T(countOrBlank(len(platform.Addresses))),
			ui.T(countOrBlank(len(platform.Secrets))), ui.T(countOrBlank(len(platform.Keys))))
	}
	rules, err := p.Monitoring.MonitoringRules(c.UserContext(), v.Business.ID)
	if err != nil {
		return err
	}
	listing, err := p.Listing.DefaultListing(c.UserContext(), v.Business.ID)
	if err != nil {
		return err
	}
	keep, err := p.PersonalData.PersonalDataRetention(c.UserContext(), v.Business.ID)
	if err != nil {
		return err
	}
	head := shell.Head{Title: text.Settings, Note: text.SettingsNote, Above: []templ.Component{
		ui.FactsOf(append(monitoringFacts(rules), ListingFact(listing), personalDataFact(keep)))}}
	if v.MayAct() {
		served, err := p.serverOptions(c.UserContext())
		if err != nil {
			return err
		}
		head.Buttons = []ui.Button{{Label: text.AddPlatform, Action: v.Link("settings/platforms/"),
			ReasonLabel: text.Why,
			Fields: []ui.Filter{
				{Name: "name", Label: text.PlatformName}, {Name: "served_by", Label: text.ServedBy, Options: served}}},
			monitoringButton(v, rules), listingButton(v, listing)}
	}
	if v.User.Role == access.Admin {
		head.Buttons = append(head.Buttons, personalDataButton(v, keep))
	}
	return v.ShowList(c, head, list, "after")
}

func countOrBlank(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// serverOptions returns the choices for served_by.
func (p Pages) serverOptions(ctx context.Context) ([]ui.Option, error) {
	plugins, err := p.Plugins.ListPlugins(ctx, []core.BusinessID{})
	options := []ui.Option{{Value: core.ServedByMerchant, Label: text.ServedOwn}}
	for _, plugin := range plugins {
		options = append(options, ui.Option{Value: plugin.ID, Label: plugin.ID})
	}
	return options, err
}

// pluginAbout returns the manifest of a plugin. It is empty for own platforms, and Invalid for an unknown
// plugin.
func (p Pages) pluginAbout(ctx context.Context, id string) (about console.PluginAbout, err error) {
	if id == core.ServedByMerchant {
		return about, nil
	}
	plugins, err := p.Plugins.ListPlugins(ctx, []core.BusinessID{})
	for _, plugin := range plugins {
		if plugin.ID == id {
			return plugin.About, nil
		}
	}
	if err == nil {
		err = core.Errorf(core.Invalid, text.NoSuchPlugin, id)
	}
	return about, err
}

// Add creates a platform.
func (p Pages) Add(c *fiber.Ctx, v *shell.PageContext) error {
	platform := core.Platform{Name: strings.TrimSpace(shell.Field(c, "name")), ServedBy: shell.Field(c, "served_by")}
	platform.Name = strings.Clone(platform.Name)
	if platform.Name == "" || core.TooLong(platform.Name, core.MaxPlatformName) != "" ||
		strings.ContainsRune(platform.Name, 0) {
		return v.Redisplay(c, core.Errorf(core.Invalid, text.PlatformNameWrong), v.Link("settings/"), p.List)
	}
	_, err := p.pluginAbout(c.UserContext(), platform.ServedBy)
	if err == nil {
		err = p.Platforms.SetPlatform(c.UserContext(), v.Business.ID, platform,
			relay.AccessUpdate{Set: func(*relay.Access) error { return nil }}, v.Change(c, "platform.create"))
	}
	if err != nil {
		return v.Redisplay(c, err, v.Link("settings/"), p.List)
	}
	return c.Redirect(platformLink(v, platform.Name)+"&done=stored", fiber.StatusSeeOther)
}

func (p Pages) find(ctx context.Context, v *shell.PageContext, name string) (console.PlatformSettings, error) {
	found, err := p.Platforms.ListPlatforms(ctx, v.Business.ID)
	for _, platform := range found {
		if platform.Name == name {
			return platform, nil
		}
	}
	if err == nil {
		err = core.Errorf(core.NotFound, text.NotFound)
	}
	return console.PlatformSettings{}, err
}

// One shows a platform, with its form for users who may change it.
func (p Pages) One(c *fiber.Ctx, v *shell.PageContext) error {
	return p.showPlatform(c, v, v.Query.Get("name"), func(f formView) formView { return f })
}

func (p Pages) showPlatform(c *fiber.Ctx, v *shell.PageContext, name string, filled func(formView) formView) error {
	platform, err := p.find(c.UserContext(), v, name)
	if err != nil {
		return err
	}
	about, err := p.pluginAbout(c.UserContext(), platform.ServedBy)
	if core.CodeOf(err) == core.Invalid { // an unknown plugin
		err = nil
	}
	if err != nil {
		return err
	}
	served, err := p.serverOptions(c.UserContext())
	if err != nil {
		return err
	}
	head := shell.Head{Title: platform.Name, Note: servedByNote(platform),
		Parent: ui.Link{Href: v.Link("settings/"), Label: text.Settings}}
	if problems := pluginhost.SettingsProblems(about.Schema, platform.Settings); len(problems) > 0 {
		head.Causes = append(head.Causes,
			ui.Cause{State: ui.Warn, Text: fmt.Sprintf(text.SettingsWrong, platform.ServedBy,
				strings.Join(problems, ", "))})
	}
	head.Causes = append(head.Causes, tokenCauses(platform, about.Tokens)...)
	head.Causes = append(head.Causes, pollCauses(platform)...)
	if v.MayAct() {
		head.Buttons = aliasButtons(v, platform)
	}
	if v.MayAct() && platform.ServedBy != core.ServedByMerchant {
		hidden := []ui.Option{{Label: "name", Value: platform.Name}}
		head.Buttons = append(head.Buttons, ui.Button{Label: text.MakeCallbackKey,
			Action: v.Link("settings/callback/"), Hidden: hidden, ReasonLabel: text.Why, Help: text.MakeCallbackKeySay})
		if len(platform.Keys) > 1 {
			head.Buttons = append(head.Buttons,
				ui.Button{Label: text.DropCallbackKeys, Action: v.Link("settings/callback/drop/"), Hidden: hidden,
					ReasonLabel: text.Why,
					Help:        fmt.Sprintf(text.DropCallbackKeysSay, len(platform.Keys)-1), Danger: true})
		}
	}
	return v.Show(c, head, platformPage(filled(newFormView(v, platform, about, served,
		cmp.Or(p.BaseURL, c.BaseURL())))))
}

func servedByNote(platform console.PlatformSettings) string {
	if platform.ServedBy == core.ServedByMerchant {
		return text.ServedOwn
	}
	return text.ServedBy + " " + platform.ServedBy
}

// auditedKeys stores callback keys together with their audit entry.
type auditedKeys struct {
	relay.CallerKeys
	keys   CallbackKeys
	change access.Change
}

// CreateCallerKey stores a key (relay.CallerKeys).
func (r auditedKeys) CreateCallerKey(ctx context.Context, business core.BusinessID, platform string,
	hash []byte) error {
	return r.keys.AddCallbackKey(ctx, business, platform, hash, r.change)
}

// CreateCallbackKey creates a callback key of a platform and shows it once.
func (p Pages) CreateCallbackKey(c *fiber.Ctx, v *shell.PageContext) error {
	name := shell.Field(c, "name")
	callers := relay.Callers{Keys: auditedKeys{keys: p.Keys, change: v.Change(c, "callback.create")},
		Clock: p.Clock}
	key, err := callers.CreateKey(c.UserContext(), v.Business.ID, name)
	if err != nil {
		return err
	}
	return v.Show(c, shell.Head{Title: text.NewCallbackKey, Note: name,
		Parent: ui.Link{Href: platformLink(v, name), Label: name},
		Causes: []ui.Cause{{State: ui.Warn, Text: text.NewCallbackKeyText}}},
		ui.Code(text.KeyHeader, "Authorization: Bearer "+key))
}

// DropCallbackKeys revokes all callback keys of a platform except the newest.
func (p Pages) DropCallbackKeys(c *fiber.Ctx, v *shell.PageContext) error {
	name := shell.Field(c, "name")
	if err := p.Keys.DropCallbackKeys(c.UserContext(), v.Business.ID, name,
		v.Change(c, "callback.revoke")); err != nil {
		return err
	}
	return c.Redirect(platformLink(v, name)+"&done=stored", fiber.StatusSeeOther)
}
