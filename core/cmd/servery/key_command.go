package main

import (
	"context"
	"fmt"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hub"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
)

type keyCommand struct {
	Create keyCreate `cmd:"" help:"Create an API key, shown once."`
	List   keyList   `cmd:"" help:"List the API keys of a business."`
	Revoke keyRevoke `cmd:"" help:"Revoke an API key."`
}

type keyCreate struct {
	businessFlags
	Username string `required:"" help:"Name of the client. Keys may share one, for rotation."`
	Scope    string `default:"pos" enum:"pos,channel" help:"Calls of a POS, or of a channel."`
	Platform string `help:"Only for the scope channel: its platform."`
	JSON     bool   `help:"Print JSON."`
}

// Run creates a key and prints it.
func (c keyCreate) Run(ctx context.Context, out output) error {
	return c.withHub(ctx, out, func(db *hub.Database) error {
		key, secret, err := accountsOf(db.DB).CreateKey(ctx, access.Key{
			Business: c.Business, Username: c.Username, Scope: core.Scope(c.Scope), Platform: c.Platform})
		if err != nil {
			return err
		}
		return out.show(c.JSON, struct {
			ID       int64  `json:"id"`
			Username string `json:"username"`
			APIKey   string `json:"api_key"`
		}{key.ID, key.Username, secret}, "key %d (shown once)\nAuthorization: apikey %s:%s\n", key.ID, key.Username,
			secret)
	})
}

type keyList struct {
	businessFlags
	JSON bool `help:"Print JSON."`
}

// listedKey is a key in the list.
type listedKey struct {
	ID       int64      `json:"id"`
	Username string     `json:"username"`
	Prefix   string     `json:"prefix"`
	Scope    core.Scope `json:"scope"`
	Platform string     `json:"platform,omitzero"`
	Revoked  bool       `json:"revoked"`
}

// Run lists the keys, the newest first.
func (c keyList) Run(ctx context.Context, out output) error {
	return c.withBusiness(ctx, out, func(db *hub.Database) error {
		keys, err := accessdb.New(db.DB).ListKeys(ctx, c.Business, 0, maxListed)
		if err != nil {
			return err
		}
		list, text := make([]listedKey, len(keys)), ""
		for i, k := range keys {
			list[i] = listedKey{k.ID, k.Username, k.Prefix, k.Scope, k.Platform, !k.DisabledAt.IsZero()}
			state := map[bool]string{true: "revoked", false: "active"}[list[i].Revoked]
			text += fmt.Sprintf("%6d  %s:%s…  %s  %s\n", k.ID, k.Username, k.Prefix, k.Scope, state)
		}
		return out.show(c.JSON, list, "%s", text)
	})
}

type keyRevoke struct {
	businessFlags
	ID int64 `arg:"" help:"Id of the key."`
}

// Run disables a key.
func (c keyRevoke) Run(ctx context.Context, out output) error {
	return c.withHub(ctx, out, func(db *hub.Database) error {
		if err := accessdb.New(db.DB).DisableKey(ctx, c.Business, c.ID); err != nil {
			return err
		}
		return out.show(false, nil, "key %d is revoked\n", c.ID)
	})
}
