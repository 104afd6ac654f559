// Package keys lists, creates and revokes the API keys of a business. The secret of a key is shown once, in the
// response that created it.
package keys

import (
	"context"
	"fmt"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
)

// Lister lists API keys.
type Lister interface {
	ListKeys(ctx context.Context, business core.BusinessID, before int64, limit int) ([]console.Key, error)
}

// Issuer adds and revokes API keys.
type Issuer interface {
	AddKey(ctx context.Context, key access.Key, change access.Change) (access.Key, error)
	RevokeKey(ctx context.Context, business core.BusinessID, id int64, change access.Change) error
}

// Pages is the API keys page.
type Pages struct {
	Lister Lister
	Issuer Issuer
	Clock  core.Clock
}

// Page describes the pages.
func (p Pages) Page() shell.Page {
	const path = shell.BusinessPath + "keys/"
	return shell.Page{Path: path, Label: text.Keys,
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.List),
			shell.Post(path, access.Support, p.Create),
			shell.Post(path+"revoke/", access.Support, p.Revoke),
		},
		Done: map[string]string{"revoked": text.KeyRevoked}}
}

// List shows the keys of a business.
func (p Pages) List(c *fiber.Ctx, v *shell.PageContext) error {
	before, _ := strconv.ParseInt(v.Query.Get("before"), 10, 64)
	found, err := p.Lister.ListKeys(c.UserContext(), v.Business.ID, before, v.Limit())
	if err != nil {
		return err
	}
	list := ui.List{Name: text.Keys, EmptyTitle: text.NoKeysTitle, EmptyText: text.NoKeysText, Columns: []ui.Column{
		{Label: text.Username, Kind: ui.Wide}, {Label: "ID", Kind: ui.Figure}, {Label: text.Prefix},
		{Label: text.Scope}, {Label: text.State}, {Label: text.Created}, {Label: text.LastUsed},
		{Label: text.KeyEnded}}}
	names, working := []ui.Option{}, []ui.Option{}
	var causes []ui.Cause
	for _, key := range found {
		id := fmt.Sprint(key.ID)
		state, words := ui.OK, text.KeyActive
		if !key.DisabledAt.IsZero() {
			state, words = ui.Off, text.KeyOff
		} else {
			used := text.NeverUsed
			if !key.UsedAt.IsZero() {
				used = v.At(key.UsedAt).Ago()
			}
			working = append(working,
				ui.Option{Value: id,
					Label: fmt.Sprintf("%s · %s… · %d · %s", key.Username, key.Prefix, key.ID, used)})
			names = append(names, ui.Option{Value: key.Username, Label: key.Username})
		}
		list.AddAt(id, ui.Cell{Text: key.Username, Note: key.Platform}, ui.T(id), ui.CodeCell(key.Prefix+"…"),
			ui.T(string(key.Scope)), ui.StateCell(state, words), ui.TimeCell(v.At(key.CreatedAt)),
			ui.TimeCell(v.At(key.UsedAt)), ui.TimeCell(v.At(key.DisabledAt)))
		if key.UsedAt.After(key.DisabledAt) && !key.DisabledAt.IsZero() {
			causes = append(causes, cause.RevokedKey(key, v.Zone))
		}
	}
	head := shell.Head{Title: text.Keys, Causes: causes}
	if v.MayAct() {
		name := "pos"
		if len(names) > 0 {
			name = names[0].Value
		}
		head.Buttons = append(head.Buttons,
			ui.Button{Label: text.Rotate, Action: v.Link("keys/"), ReasonLabel: text.Why, Help: text.RotateSay,
				Fields: []ui.Filter{
					{Name: "username", Label: text.Username, Value: name},
					{Name: "scope", Label: text.Scope, Value: string(core.ScopePOS),
						Options: []ui.Option{{Value: string(core.ScopePOS), Label: string(core.ScopePOS)},
							{Value: string(core.ScopeChannel), Label: string(core.ScopeChannel)}}},
					{Name: "platform", Label: text.KeyPlatform}}})
		if len(working) > 0 {
			head.Buttons = append(head.Buttons,
				ui.Button{Label: text.Revoke, Action: v.Link("keys/revoke/"), ReasonLabel: text.Why,
					Help: text.RevokeSay, Danger: true,
					Fields: []ui.Filter{{Name: "id", Label: text.KeyWhich, Options: working}}})
		}
	}
	return v.ShowList(c, head, list, "before")
}

// auditedKeys stores a key together with its audit entry.
type auditedKeys struct {
	access.KeyStore
	issuer Issuer
	change access.Change
}

// CreateKey stores a key (access.KeyStore).
func (r auditedKeys) CreateKey(ctx context.Context, key access.Key) (access.Key, error) {
	return r.issuer.AddKey(ctx, key, r.change)
}

// Create creates a key and shows its secret.
func (p Pages) Create(c *fiber.Ctx, v *shell.PageContext) error {
	maker := access.Access{Keys: auditedKeys{issuer: p.Issuer, change: v.Change(c, "key.create")}, Clock: p.Clock}
	key, secret, err := maker.CreateKey(c.UserContext(),
		access.Key{Business: v.Business.ID, Username: shell.Field(c, "username"),
			Scope: core.Scope(shell.Field(c, "scope")), Platform: shell.Field(c, "platform")})
	if err != nil {
		return v.Redisplay(c, err, v.Link("keys/"), p.List)
	}
	return v.Show(c, shell.Head{Title: text.NewKey, Parent: ui.Link{Href: v.Link("keys/"), Label: text.Keys},
		Causes: []ui.Cause{{State: ui.Warn, Text: text.NewKeyText}}},
		ui.Code(text.KeyHeader, "Authorization: apikey "+key.Username+":"+secret))
}

// Revoke disables a key.
func (p Pages) Revoke(c *fiber.Ctx, v *shell.PageContext) error {
	id, err := strconv.ParseInt(shell.Field(c, "id"), 10, 64)
	if err != nil {
		return core.Errorf(core.NotFound, text.NotFound)
	}
	if err := p.Issuer.RevokeKey(c.UserContext(), v.Business.ID, id, v.Change(c, "key.revoke")); err != nil {
		return err
	}
	return shell.RedirectDone(c, v.Link("keys/"), "revoked")
}
