package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/plugins/sdk"
)

// pluginPlace puts a version of a plugin where the hub finds it.
type pluginPlace struct {
	pluginOperation
	Unchecked bool   `help:"Do not start the program first: where this machine cannot run it, and those of the hubs can."`
	From      string `arg:"" help:"Directory with the plugin's manifest and program."`
}

type pluginInstall struct{ pluginPlace }

// Run installs a plugin.
func (c pluginInstall) Run(ctx context.Context, out output) error {
	return c.place(ctx, out, true, "installed")
}

type pluginUpgrade struct{ pluginPlace }

// Run replaces a plugin. One that is disabled stays so.
func (c pluginUpgrade) Run(ctx context.Context, out output) error {
	return c.place(ctx, out, false, "upgraded; running hubs change over")
}

// place verifies a plugin, starts it once as a hub would, puts it into the directory,
// and tells the hubs. A version that does not start leaves the one that is there.
func (c pluginPlace) place(ctx context.Context, out output, enable bool, done string) error {
	manifest, err := sdk.ReadManifest(filepath.Join(c.From, sdk.ManifestName))
	if err != nil {
		return err
	}
	binary, err := manifest.Binary(runtime.GOOS, runtime.GOARCH)
	if err == nil {
		err = verifyBinary(c.From, binary)
	}
	if err != nil {
		return err
	}
	return c.withSchema(ctx, out, func(_ access.Access, db *postgres.DB) error {
		now, says := wanted{ID: manifest.ID, Enabled: true}, manifest.Version+" is "+done
		if !c.Unchecked {
			if now.Unfit, err = c.try(ctx, db, manifest.ID); err != nil {
				return err
			}
		}
		into := filepath.Join(c.dir(), manifest.ID)
		// The manifest last: a hub that looks meanwhile refuses a program of another digest and stays with what runs.
		for _, name := range []string{binary.Path, sdk.ManifestName} {
			if err := copyFile(filepath.Join(c.From, name), filepath.Join(into, name)); err != nil {
				return err
			}
		}
		if p, err := known(ctx, c.dir(), db, manifest.ID); err != nil {
			return err
		} else if !enable && !p.Enabled {
			now.Enabled, says = false, says+"; it stays disabled"
		}
		return c.record(ctx, out, db, now, says)
	})
}

// try starts the version that is to be placed, and tells which platforms' settings it
// does not take: the right ones cannot be set before it is there.
func (c pluginPlace) try(ctx context.Context, db *postgres.DB, id string) (unfit []string, err error) {
	bound, err := postgres.Plugins{DB: db}.InUse(ctx, id)
	if err != nil {
		return nil, err
	}
	return unfit, startOnce(ctx, c.From, id, func(plugin pluginhost.Plugin) error {
		unfit, err = misfits(ctx, plugin, bound)
		return err
	})
}

// startOnce starts the plugin of a directory as a hub would, which has it under its id.
func startOnce(ctx context.Context, from, id string, ask func(pluginhost.Plugin) error) error {
	dir, err := os.MkdirTemp("", "servery-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if from, err = filepath.Abs(from); err == nil {
		err = os.Symlink(from, filepath.Join(dir, id))
	}
	if err != nil {
		return err
	}
	return alone(ctx, dir, id, ask)
}

// copyFile puts a copy in the place of a file in one step.
func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	target, err := os.CreateTemp(filepath.Dir(to), ".new-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	err = errors.Join(err, target.Chmod(info.Mode().Perm()), target.Sync(), target.Close())
	if err == nil {
		err = os.Rename(target.Name(), to)
	}
	if err != nil {
		_ = os.Remove(target.Name())
	}
	return err
}
