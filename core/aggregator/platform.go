package aggregator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/plugins/sdk"
)

// PlatformChange changes how a plugin reaches a platform.
type PlatformChange struct {
	Platform  string
	Settings  []byte            // JSON; nil: as they are
	Accept    relay.Accept      // "": as it is
	Endpoints map[string]string // URLs by name; "" removes one
	Secrets   map[string]string // by name, or by relay.StoreSecret; "" removes one
}

// Check returns Invalid for a change that the plugin does not support. For a platform without a plugin, about is nil.
func (c PlatformChange) Check(about *sdk.Description) error {
	if c.Accept == relay.AcceptPOS && !slices.Contains(about.GetCapabilities(), sdk.CapabilityOrderAcknowledge) {
		served := core.ServedByMerchant
		if about != nil {
			served = about.GetId()
		}
		return core.Errorf(core.Invalid,
			"accept: platform %s has the plugin %s, which sends no acceptance of orders", c.Platform, served)
	}
	return nil
}

// Apply changes a platform's access. It returns what the plugin requires and the platform lacks after that.
func (c PlatformChange) Apply(a *relay.Access, about *sdk.Description) ([]string, error) {
	if c.Settings != nil {
		a.Settings = c.Settings
	}
	if c.Accept != "" {
		a.Accept = c.Accept
	}
	err := errors.Join(c.setEndpoints(a, about), c.setSecrets(a, about))
	return missing(a, about), err
}

func (c PlatformChange) setEndpoints(a *relay.Access, about *sdk.Description) error {
	if a.BaseURLs == nil {
		a.BaseURLs = map[string]string{}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Endpoints)) {
		address := c.Endpoints[name]
		if address == "" {
			delete(a.BaseURLs, name)
			continue
		}
		if err := pluginhost.CheckEndpointURL(about, name, address); err != nil {
			return err
		}
		a.BaseURLs[name] = strings.TrimSuffix(address, "/")
	}
	return nil
}

func (c PlatformChange) setSecrets(a *relay.Access, about *sdk.Description) error {
	if a.Secrets == nil {
		a.Secrets = map[string]string{}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Secrets)) {
		if err := CheckSecretName(about, name); err != nil {
			return err
		}
		if c.Secrets[name] == "" {
			delete(a.Secrets, name)
			continue
		}
		a.Secrets[name] = c.Secrets[name]
	}
	return nil
}

// missing returns what the plugin requires and the platform does not have, or has wrong.
func missing(a *relay.Access, about *sdk.Description) []string {
	return append(missingAccess(a, about), pluginhost.SettingsProblems(about.GetSettingsSchema(), a.Settings)...)
}

// MissingAccess lists the endpoints and secrets of a plugin that a platform lacks.
type MissingAccess struct {
	Business core.BusinessID `json:"business"`
	Platform string          `json:"platform"`
	Missing  []string        `json:"missing"`
}

// String describes it for people.
func (m MissingAccess) String() string {
	return fmt.Sprintf("platform %q of business %d lacks %s", m.Platform, m.Business, strings.Join(m.Missing, ", "))
}

// FindMissingAccess returns the platforms that lack what a version of their plugin declares. Calls that use it cannot
// be sent. A platform that cannot be read is listed too.
func FindMissingAccess(ctx context.Context, platforms relay.Platforms, about *sdk.Description,
	bound []Binding) (list []MissingAccess, err error) {
	if len(about.GetEndpoints())+len(about.GetSecrets()) == 0 {
		return nil, nil
	}
	for _, b := range bound {
		access, err := platforms.Access(ctx, b.Business, b.Platform)
		names := missingAccess(&access, about)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case core.CodeOf(err) == core.NotFound: // removed since
			continue
		case err != nil:
			names = []string{"readable settings (" + err.Error() + ")"}
		}
		if len(names) > 0 {
			list = append(list, MissingAccess{b.Business, b.Platform, names})
		}
	}
	return list, nil
}

func missingAccess(a *relay.Access, about *sdk.Description) (list []string) {
	for _, e := range about.GetEndpoints() {
		if a.BaseURLs[e.GetName()] == "" {
			list = append(list, "endpoint "+e.GetName())
		}
	}
	for _, s := range about.GetSecrets() {
		if !hasSecret(a, s) {
			list = append(list, "secret "+s.GetName())
		}
	}
	return append(list, invalidCertificates(a, about)...)
}

// hasCapability reports whether a plugin is known to have a capability.
func (h *Host) hasCapability(id, capability string) bool {
	return slices.Contains(h.description(id).GetCapabilities(), capability)
}
