package plugindir

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/aggregator"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/platforms"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

// Desired is the desired state of a plugin.
type Desired struct {
	ID        string                       `json:"id"`
	Enabled   bool                         `json:"enabled"`
	Installed string                       `json:"installed,omitzero"` // version in the directory
	Unfit     []aggregator.SettingsProblem `json:"unfit,omitzero"`     // settings that it rejects
	Filled    []aggregator.FilledSettings  `json:"filled,omitzero"`    // platforms that get defaults
	Missing   []aggregator.MissingAccess   `json:"missing,omitzero"`   // endpoints and secrets it declares
	DryRun    bool                         `json:"dry_run,omitzero"`   // nothing is changed
	Hubs      []Hub                        `json:"hubs,omitzero"`      // running hubs, if they were waited for

	build string    // SHA-256 of the installed manifest
	since time.Time // when it was installed
}

// Summary describes the result of an installation for people.
func (p Desired) Summary(result string) string {
	switch {
	case p.DryRun:
		action, _, _ := strings.Cut(result, ",")
		result = "not " + action + ", because of --dry-run"
	case !p.Enabled:
		result += ", but it stays disabled"
	}
	text := fmt.Sprintf("plugin %s %s is %s\n", p.ID, p.Installed, result)
	for _, f := range p.Filled {
		text += fmt.Sprintf("platform %q of business %d has new settings: %s\n", f.Platform, f.Business,
			strings.Join(f.Fields, ", "))
	}
	for _, problem := range p.Unfit {
		text += fmt.Sprintf("it rejects the settings of %s: correct them with servery platform set\n", problem)
	}
	for _, m := range p.Missing {
		text += m.String() + ": set them with servery platform set\n"
	}
	return text
}

// InstallOptions select how a plugin is installed.
type InstallOptions struct {
	Upgrade   bool     // a disabled plugin stays disabled
	Unchecked bool     // skips the test start
	Force     bool     // installs a version that rejects stored settings
	DryRun    bool     // only checks
	Defaults  []string // FIELD=VALUE, for platforms that lack the setting
}

// Install verifies, test-starts and copies a plugin from a directory, and notifies the hubs. If the version does not
// start, or rejects the stored settings of a platform, the installed one stays. Defaults are stored in the transaction
// that switches to the version.
func (d Dir) Install(ctx context.Context, from string, options InstallOptions) (Desired, error) {
	desired, program, err := d.readBuild(from)
	desired.DryRun = options.DryRun
	switch {
	case err != nil:
		return desired, err
	case !options.Unchecked:
		platforms, err := d.testStart(ctx, from, options.Defaults, &desired)
		if err != nil {
			return desired, err
		}
		if platforms > 0 && !options.Force {
			return desired, unfitError(desired, platforms)
		}
	case len(options.Defaults) > 0:
		return desired, core.Errorf(core.Invalid, "--set-default is not possible with --unchecked: "+
			"the program must run to check the settings")
	}
	p := aggregator.Plugin{Enabled: true}
	if options.Upgrade {
		if p, err = d.Find(ctx, desired.ID); core.CodeOf(err) == core.NotFound {
			p, err = aggregator.Plugin{Enabled: true}, nil
		}
	}
	if desired.Enabled = p.Enabled || !options.Upgrade; err != nil || options.DryRun {
		return desired, err
	}
	installation, err := pluginhost.Prepare(d.Path, from, desired.ID, program)
	if err != nil {
		return desired, err
	}
	defer installation.Close()
	err = calls.NewPlugins(d.DB).Switch(ctx, desired.ID, desired.Enabled, desired.Filled, installation.Install)
	if err != nil {
		err = errors.Join(err, installation.Undo())
	}
	return desired, err
}

// readBuild reads and verifies the version in a directory. It also returns the name of its program.
func (d Dir) readBuild(from string) (desired Desired, program string, err error) {
	text, err := os.ReadFile(filepath.Join(from, sdk.ManifestName))
	if err != nil {
		return desired, "", err
	}
	manifest, binary, err := sdk.ReadInstalled(from)
	if err != nil {
		return desired, "", err
	}
	desired = Desired{ID: manifest.ID, Enabled: true, Installed: manifest.Version, since: d.DB.Clock().Now()}
	desired.build, err = sdk.Digest(bytes.NewReader(text))
	return desired, binary.Path, err
}

// testStart starts the version to install, and checks the settings and access of all platforms with it. It returns
// how many platforms have settings that the version rejects.
func (d Dir) testStart(ctx context.Context, from string, defaults []string, p *Desired) (rejected int, err error) {
	bound, err := calls.NewPlugins(d.DB).InUse(ctx, p.ID)
	if err != nil {
		return 0, err
	}
	err = aggregator.RunFromDirectory(ctx, from, p.ID, d.hidden(), func(plugin pluginhost.Plugin) error {
		values, err := aggregator.ParseSettingsDefaults(plugin.Description(), defaults)
		if err != nil {
			return err
		}
		fit, err := aggregator.FitSettings(ctx, plugin, bound, values)
		if err != nil {
			return err
		}
		p.Unfit, p.Filled, rejected = fit.Problems, fit.Filled, fit.Platforms()
		p.Missing, err = aggregator.FindMissingAccess(ctx, platforms.New(d.DB), plugin.Description(), bound)
		return err
	})
	return rejected, err
}

// maxUnfit bounds the problems that an error lists.
const maxUnfit = 100

// unfitError lists the stored settings that the version to install rejects.
func unfitError(p Desired, platforms int) error {
	list := make([]string, 0, maxUnfit)
	for _, problem := range p.Unfit[:min(len(p.Unfit), maxUnfit)] {
		list = append(list, problem.String())
	}
	if more := len(p.Unfit) - maxUnfit; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return core.Errorf(core.Conflict, "plugin %s %s is not installed: it rejects settings of %d platforms:\n  %s\n"+
		"use `servery platform set`, --set-default FIELD=VALUE, or --force", p.ID, p.Installed,
		platforms, strings.Join(list, "\n  "))
}
