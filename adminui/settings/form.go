package settings

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/relay"
)

// formView is the data of the form of a platform.
type formView struct {
	token, action string
	name, version string
	mayAct        bool
	served        ui.Filter
	accept        ui.Filter // who accepts its orders
	plugin        bool      // served by a plugin
	settings      string
	rules         []ui.Option // allowed settings
	endpoints     []endpointView
	secrets       []secretView
	facts         []ui.Fact
	problem, why  string // of a rejected form
	reenterNote   string // what must be entered again
}

type endpointView struct{ name, address, hosts string }

type secretView struct {
	name, description string
	set, drop         bool
	at                ui.Instant
}

func newFormView(v *shell.PageContext, platform console.PlatformSettings, about console.PluginAbout, served []ui.Option,
	base string) formView {
	form := formView{token: v.Token(), action: platformLink(v, platform.Name), name: platform.Name,
		version: platform.Version, mayAct: v.MayAct(), plugin: platform.ServedBy != core.ServedByMerchant,
		accept: ui.Filter{Name: "accept", Label: text.AcceptedBy, Value: platform.Accept, Options: []ui.Option{
			{Value: string(relay.AcceptHub), Label: text.AcceptedByHub},
			{Value: string(relay.AcceptPOS), Label: text.AcceptedByPOS}}},
		served:   ui.Filter{Name: "served_by", Label: text.ServedBy, Value: platform.ServedBy, Options: served},
		settings: ui.Pretty(platform.Settings, 64<<10), rules: settingRules(about.Schema)}
	for _, e := range about.Endpoints {
		form.endpoints = append(form.endpoints,
			endpointView{e.Name, platform.Addresses[e.Name], strings.Join(e.Hosts, ", ")})
	}
	for _, s := range about.Secrets {
		at, set := platform.Secrets[s.Name]
		form.secrets = append(form.secrets,
			secretView{name: s.Name, description: describeSecret(platform, s.Name, s.Description), set: set,
				at: v.At(at)})
	}
	if form.plugin {
		form.facts = append([]ui.Fact{{Label: text.Plugin,
			Cell: ui.LinkCell(platform.ServedBy, shell.PluginsPath+platform.ServedBy+"/")}},
			callFacts(v, platform, about.Inbound, base)...)
		form.facts = append(form.facts, tokenFacts(v, platform, about.Tokens)...)
		form.facts = append(form.facts, loginFacts(v, platform, about.Logins)...)
		form.facts = append(form.facts, pollFacts(v, platform)...)
		form.facts = append(form.facts, valueFacts(platform)...)
	}
	form.facts = append(form.facts, aliasFact(platform))
	return form
}

// settingRules returns the type or the allowed values of each setting of a schema.
func settingRules(schema []byte) (rules []ui.Option) {
	for _, field := range ui.SchemaFields(schema) {
		rules = append(rules, ui.Option{Label: field.Name, Value: field.Rule()})
	}
	return rules
}

// withInput returns the form with the submitted values. Secrets are never sent back: the user must enter them again.
func (f formView) withInput(value func(string) string, problem string) formView {
	f.problem, f.why = problem, value("why")
	f.served.Value, f.settings, f.accept.Value = value("served_by"), value("settings"),
		cmp.Or(value("accept"), f.accept.Value)
	for i, e := range f.endpoints {
		f.endpoints[i].address = value("endpoint-" + e.name)
	}
	for i, s := range f.secrets {
		f.secrets[i].drop = value("drop-"+s.name) != ""
		if value("secret-"+s.name) != "" {
			f.reenterNote = text.SecretsReenter
		}
	}
	return f
}

// Save stores the whole form or nothing. An invalid or outdated form is shown again with its values.
func (p Pages) Save(c *fiber.Ctx, v *shell.PageContext) error {
	typed := func(name string) string { return shell.Field(c, name) }
	err := p.save(c, v)
	if code := core.CodeOf(err); code == core.Invalid || code == core.Conflict {
		problem := v.ErrorMessage(c, err)
		return p.showPlatform(c, v, typed("name"), func(f formView) formView {
			switch {
			case code == core.Invalid: // a later change by another user is still a conflict
				f.version = typed("version")
			case f.version != typed("version"):
				problem = text.PlatformConflict
			}
			return f.withInput(typed, problem)
		})
	}
	if err != nil {
		return err
	}
	return c.Redirect(platformLink(v, typed("name"))+"&done=stored", fiber.StatusSeeOther)
}

func (p Pages) save(c *fiber.Ctx, v *shell.PageContext) error {
	ctx := c.UserContext()
	platform := core.Platform{Name: shell.Field(c, "name"), ServedBy: shell.Field(c, "served_by")}
	stored, err := p.find(ctx, v, platform.Name)
	if err != nil {
		return err
	}
	about, err := p.pluginAbout(ctx, platform.ServedBy)
	if err != nil {
		return err
	}
	settings := []byte(strings.TrimSpace(shell.Field(c, "settings")))
	if err := p.checkSettings(ctx, v, platform, stored, settings); err != nil {
		return err
	}
	addresses, err := p.addresses(c, platform, about)
	if err != nil {
		return err
	}
	secrets := map[string]string{} // to be set; "" removes one
	for _, s := range about.Secrets {
		if value := shell.Field(c, "secret-"+s.Name); value != "" {
			secrets[s.Name] = value
		} else if shell.Field(c, "drop-"+s.Name) != "" {
			secrets[s.Name] = ""
		}
	}
	var accept relay.Accept
	if sent := shell.Field(c, "accept"); sent != "" { // the form of an own platform has no such field
		if accept, err = relay.ParseAccept(sent); err != nil {
			return err
		}
	}
	// The capability has the name of the call.
	if accept == relay.AcceptPOS && platform.ServedBy != core.ServedByMerchant &&
		!slices.Contains(about.Capabilities, string(relay.OrderAcknowledge)) {
		return core.Errorf(core.Invalid, text.AcceptUnsupported, platform.ServedBy)
	}
	set := func(a *relay.Access) error {
		a.Settings, a.Accept = compact(settings), cmp.Or(accept, a.Accept)
		a.BaseURLs = merge(a.BaseURLs, addresses)
		a.Secrets = merge(a.Secrets, secrets)
		return nil
	}
	return p.Platforms.SetPlatform(ctx, v.Business.ID, platform,
		relay.AccessUpdate{Version: shell.Field(c, "version"), Set: set}, v.Change(c, "platform.change"))
}

// checkSettings has the plugin check the settings, unless they are unchanged.
func (p Pages) checkSettings(ctx context.Context, v *shell.PageContext, platform core.Platform,
	stored console.PlatformSettings, settings []byte) error {
	if len(settings) == 0 ||
		platform.ServedBy == stored.ServedBy && bytes.Equal(compact(settings), compact(stored.Settings)) {
		return nil
	}
	if platform.ServedBy == core.ServedByMerchant {
		return core.Errorf(core.Invalid, text.SettingsOwn)
	}
	if value := jsontext.Value(settings); !value.IsValid() || value.Kind() != '{' {
		return core.Errorf(core.Invalid, text.SettingsNoJSON)
	}
	return p.Plugins.CheckSettings(ctx, platform.ServedBy, v.Business.ID, platform.Name, settings)
}

func compact(settings []byte) []byte {
	value := jsontext.Value(bytes.Clone(settings))
	if value.Compact() != nil {
		return settings
	}
	return value
}

func (p Pages) addresses(c *fiber.Ctx, platform core.Platform, about console.PluginAbout) (map[string]string, error) {
	addresses := map[string]string{}
	for _, e := range about.Endpoints {
		address := strings.TrimSuffix(strings.TrimSpace(shell.Field(c, "endpoint-"+e.Name)), "/")
		if address != "" {
			if err := p.Plugins.CheckAddress(c.UserContext(), platform.ServedBy, e.Name, address); err != nil {
				return nil, err
			}
		}
		addresses[e.Name] = address
	}
	return addresses, nil
}

// merge returns before with the values of now. An empty value removes its key.
func merge(stored, changes map[string]string) map[string]string {
	merged := map[string]string{}
	for name, value := range stored {
		merged[name] = value
	}
	for name, value := range changes {
		if merged[name] = value; value == "" {
			delete(merged, name)
		}
	}
	return merged
}
