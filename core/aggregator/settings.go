package aggregator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

// validateSettings checks the settings of platforms against every new version of a plugin, in the background: a slow
// plugin delays no other. Run and Refresh wait for the end.
func (h *Host) validateSettings(ctx context.Context) {
	for _, s := range h.Status() {
		h.mu.Lock()
		due := s.Manifest != "" && h.validated[s.ID] != s.Manifest && !h.validating[s.ID]
		if due {
			h.validating[s.ID] = true
		}
		h.mu.Unlock()
		if !due {
			continue
		}
		h.validations.Go(func() {
			err := h.validatePlugin(ctx, s)
			h.mu.Lock()
			defer h.mu.Unlock()
			delete(h.validating, s.ID)
			if err == nil {
				h.validated[s.ID] = s.Manifest
			}
		})
	}
}

// validatePlugin checks the settings of the platforms of a plugin. It records a fault for settings that the plugin
// rejects. After an error the check is due again.
func (h *Host) validatePlugin(ctx context.Context, s pluginhost.Status) error {
	plugin := h.Plugin(s.ID)
	bound, err := h.config.Registry.InUse(ctx, s.ID)
	if err != nil {
		if ctx.Err() == nil {
			h.config.Log.Warn("reading the settings of platforms failed", "plugin", s.ID, "error", err)
		}
		return err
	}
	fit, err := FitSettings(ctx, plugin, bound, nil)
	if err == nil && !slices.ContainsFunc(h.Status(),
		func(now pluginhost.Status) bool { return now.ID == s.ID && now.Manifest == s.Manifest }) {
		return fmt.Errorf("plugin %s was replaced during the check of its settings", s.ID)
	}
	if err == nil && len(fit.Problems) > 0 {
		plugin.ReportFault(fmt.Errorf("version %s rejects the settings of %d platforms: %s", s.Version,
			fit.Platforms(), strings.Join(fit.texts(), "; ")))
	}
	return err // the plugin's fault is recorded
}

// withSettingsError replaces a rejection with Unavailable if the plugin rejects the settings of the platform. The
// request itself may be valid, and is retried once the settings are fixed.
func (h *Host) withSettingsError(ctx context.Context, plugin pluginhost.Plugin, subject pluginhost.Subject,
	refusal error) error {
	if core.CodeOf(refusal) != core.Invalid || pluginhost.IsSetAside(refusal) {
		return refusal
	}
	wrong, err := settingsError(ctx, plugin, subject)
	if err != nil || wrong == "" {
		return refusal
	}
	return &core.Error{Code: core.Unavailable, Message: fmt.Sprintf(
		"plugin %s rejects the settings of platform %s (settings_rejected)", plugin.ID(), subject.Platform),
		Cause: errors.New(wrong)}
}

// InvalidSettings returns an error with the plugin's problems with the settings, and the known settings.
func InvalidSettings(platform string, about *sdk.Description, problems []*sdk.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	found := make([]string, len(problems))
	for i, p := range problems {
		found[i] = fmt.Sprintf("platform %q: %s", platform, pluginhost.FormatProblem(p))
	}
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if json.Unmarshal(about.GetSettingsSchema(), &schema) == nil && len(schema.Properties) > 0 {
		found = append(found, "the settings of the plugin are: "+
			strings.Join(slices.Sorted(maps.Keys(schema.Properties)), ", "))
	}
	return core.Errorf(core.Invalid, "%s", strings.Join(found, "\n"))
}
