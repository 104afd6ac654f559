package settings

import (
	"context"
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
)

// Aliases changes the aliases of platforms.
type Aliases interface {
	AddAlias(ctx context.Context, business core.BusinessID, alias core.NewPlatformAlias, change access.Change) error
	SendAlias(ctx context.Context, business core.BusinessID, alias string, sent bool, change access.Change) error
	RemoveAlias(ctx context.Context, business core.BusinessID, alias string, change access.Change) error
}

// aliasFact returns the aliases of a platform, and the name that events use.
func aliasFact(platform console.PlatformSettings) ui.Fact {
	if len(platform.Aliases) == 0 {
		return ui.Fact{Label: text.Aliases, Cell: ui.T("")}
	}
	names, sent := make([]string, len(platform.Aliases)), platform.Name
	for i, a := range platform.Aliases {
		if names[i] = a.Alias; a.InEvents {
			sent = a.Alias
		}
	}
	return ui.Fact{Label: text.Aliases,
		Cell: ui.Cell{Text: strings.Join(names, ", "), Note: fmt.Sprintf(text.AliasSent, sent)}}
}

// aliasNote returns the note with the aliases of a platform, or "" without any.
func aliasNote(platform console.PlatformSettings) string {
	if len(platform.Aliases) == 0 {
		return ""
	}
	return fmt.Sprintf(text.AliasNote, aliasFact(platform).Cell.Text)
}

// aliasButtons returns the buttons that change the aliases of a platform.
func aliasButtons(v *shell.PageContext, platform console.PlatformSettings) []ui.Button {
	hidden := []ui.Option{{Label: "name", Value: platform.Name}}
	first := fmt.Sprint(len(platform.Aliases) == 0)
	buttons := []ui.Button{{Label: text.AddAlias, Action: v.Link("settings/alias/"), Hidden: hidden,
		ReasonLabel: text.Why,
		Help:        text.AddAliasSay, Fields: []ui.Filter{{Name: "alias", Label: text.Alias},
			{Name: "sent", Label: text.SendAlias, Value: first,
				Options: []ui.Option{{Value: "true", Label: text.Yes}, {Value: "false", Label: text.No}}}}}}
	if len(platform.Aliases) == 0 {
		return buttons
	}
	aliases, names := []ui.Option{}, []ui.Option{{Value: "", Label: fmt.Sprintf(text.OwnName, platform.Name)}}
	sent := ""
	for _, a := range platform.Aliases {
		aliases, names = append(aliases, ui.Option{Value: a.Alias, Label: a.Alias}),
			append(names, ui.Option{Value: a.Alias, Label: a.Alias})
		if a.InEvents {
			sent = a.Alias
		}
	}
	return append(buttons,
		ui.Button{Label: text.SentName, Action: v.Link("settings/alias/sent/"), ReasonLabel: text.Why,
			Help:   text.SentNameSay,
			Hidden: append(hidden, ui.Option{Label: "was", Value: sent}),
			Fields: []ui.Filter{{Name: "alias", Label: text.SentName, Value: sent, Options: names}}},
		ui.Button{Label: text.RemoveAlias, Action: v.Link("settings/alias/remove/"), Hidden: hidden,
			ReasonLabel: text.Why,
			Help:        text.RemoveAliasSay, Danger: true,
			Fields: []ui.Filter{{Name: "alias", Label: text.Alias, Options: aliases}}})
}

// AddAlias adds an alias to a platform.
func (p Pages) AddAlias(c *fiber.Ctx, v *shell.PageContext) error {
	sent := shell.Field(c, "sent") == "true"
	added := core.NewPlatformAlias{Alias: strings.TrimSpace(shell.Field(c, "alias")), Platform: shell.Field(c, "name"),
		InEvents: &sent}
	return p.afterAliasChange(c, v,
		p.Aliases.AddAlias(c.UserContext(), v.Business.ID, added, v.Change(c, "platform.alias")))
}

// SendAlias sets the name of a platform in events: its own or an alias.
func (p Pages) SendAlias(c *fiber.Ctx, v *shell.PageContext) error {
	alias, sent := shell.Field(c, "alias"), true
	if alias == "" { // the platform's own name replaces the alias
		alias, sent = shell.Field(c, "was"), false
	}
	if alias == "" {
		return p.afterAliasChange(c, v, nil)
	}
	return p.afterAliasChange(c, v, p.Aliases.SendAlias(c.UserContext(), v.Business.ID, alias, sent,
		v.Change(c, "platform.send_alias")))
}

// RemoveAlias removes an alias of a platform.
func (p Pages) RemoveAlias(c *fiber.Ctx, v *shell.PageContext) error {
	return p.afterAliasChange(c, v, p.Aliases.RemoveAlias(c.UserContext(), v.Business.ID, shell.Field(c, "alias"),
		v.Change(c, "platform.unalias")))
}

// afterAliasChange redirects to the page of the platform, or shows it again with the error.
func (p Pages) afterAliasChange(c *fiber.Ctx, v *shell.PageContext, err error) error {
	name := shell.Field(c, "name")
	if err != nil {
		return v.Redisplay(c, err, platformLink(v, name), func(c *fiber.Ctx, v *shell.PageContext) error {
			return p.showPlatform(c, v, name, func(f formView) formView { return f })
		})
	}
	return c.Redirect(platformLink(v, name)+"&done=stored", fiber.StatusSeeOther)
}
