package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/pluginhost"
)

// suit holds the settings of platforms against every version of a plugin that has come
// since it last looked, and blames the plugin for those that it does not take.
func (h *pluginHost) suit(ctx context.Context) error {
	for _, s := range h.Status() {
		if s.Manifest == "" || h.suited[s.ID] == s.Manifest {
			continue
		}
		plugin := h.Plugin(s.ID)
		bound, err := h.records.InUse(ctx, s.ID)
		if err != nil {
			return err
		}
		found, err := misfits(ctx, plugin, bound)
		if err != nil {
			continue // the plugin's fault, which is recorded; it is asked again
		}
		h.suited[s.ID] = s.Manifest
		if len(found) > 0 {
			plugin.Blame(fmt.Errorf("version %s does not take the settings of %d platform(s): %s", s.Version, len(found), strings.Join(found, "; ")))
		}
	}
	return nil
}

// unsettled is Unavailable in the place of a refusal where the plugin does not take the
// settings of the platform: what was asked may be right, and is asked again once they are.
func (h *pluginHost) unsettled(ctx context.Context, plugin pluginhost.Plugin, subject pluginhost.Subject, refusal error) error {
	if core.CodeOf(refusal) != core.Invalid {
		return refusal
	}
	wrong, err := misfit(ctx, plugin, subject)
	if err != nil || wrong == "" {
		return refusal
	}
	return core.Errorf(core.Unavailable, "plugin %s does not take the settings of platform %s: %s", plugin.ID(), subject.Platform, wrong)
}
