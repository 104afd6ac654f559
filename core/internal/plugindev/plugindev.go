// Package plugindev rebuilds a plugin whenever its sources change, installs it in the hub on this machine, and prints
// its calls.
package plugindev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/plugindir"
	"github.com/servery-hub/servery/core/internal/plugintap"
	"github.com/servery-hub/servery/core/pluginhost"
)

const (
	readyTimeout = 30 * time.Second
	lookInterval = 300 * time.Millisecond
)

// Config configures Run.
type Config struct {
	Source      string // directory of the plugin's Go package
	DatabaseURL string // "": the private PostgreSQL on this machine
	AllowRemote bool   // also a database on another machine
	Plugins     plugindir.Dir
	Out         io.Writer
}

// installer installs builds in the hubs (plugindir.Dir).
type installer interface {
	Install(ctx context.Context, from string, options plugindir.InstallOptions) (plugindir.Desired, error)
	AwaitReady(ctx context.Context, p plugindir.Desired, timeout time.Duration) ([]plugindir.Hub, error)
}

// session is a running Run.
type session struct {
	Config
	hubs     installer
	temp     string // directory of the builds
	id       string // of the plugin; "" before the first build
	builds   int
	good     string // directory of the last version that the hubs ran; "" if there is none
	listener *plugintap.Listener
	printed  sync.WaitGroup
	print    sync.Mutex
}

// Run builds and installs the plugin after each change of its sources, until the context ends. The last good version
// stays installed. A mistake in the sources does not end it.
func Run(ctx context.Context, c Config) error {
	if !c.AllowRemote && !IsLocal(c.DatabaseURL) {
		return core.Errorf(core.Conflict, "the database is on another machine: plugin dev replaces a plugin at every "+
			"change, so it needs --remote-database for that")
	}
	var err error
	if c.Source, err = filepath.Abs(c.Source); err != nil {
		return err
	}
	s := &session{Config: c, hubs: c.Plugins}
	if s.temp, err = os.MkdirTemp("", "servery-dev-"); err != nil {
		return err
	}
	defer s.close()
	changes := newSources(c.Source)
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	unread := "" // the last error about the sources
	for {
		changed, err := changes.changed()
		switch {
		case err != nil && changes.built == nil:
			return err
		case err != nil: // such as while other sources are checked out
			if err.Error() != unread {
				s.say("%v\n%s\n", err, s.kept())
			}
			unread = err.Error()
		case changed:
			unread = ""
			if err := s.update(ctx); err != nil && ctx.Err() == nil {
				s.say("%v\n%s\n", err, s.kept())
			}
		}
		select {
		case <-ctx.Done():
			s.say("%s\n", s.kept())
			return nil
		case <-look.C:
		}
	}
}

// close ends the listener and deletes the builds.
func (s *session) close() {
	if s.listener != nil {
		s.listener.Close()
		s.printed.Wait()
	}
	_ = os.RemoveAll(s.temp)
}

func (s *session) say(format string, args ...any) {
	s.print.Lock()
	defer s.print.Unlock()
	fmt.Fprintf(s.Out, format, args...)
}

// kept says which version stays.
func (s *session) kept() string {
	if version := plugindir.VersionIn(filepath.Join(s.Plugins.Path, s.id)); s.id != "" && version != "" {
		return fmt.Sprintf("plugin %s %s stays installed", s.id, version)
	}
	return "no version is installed"
}

// update builds the sources and lets the hub run the result.
func (s *session) update(ctx context.Context) error {
	s.builds++
	dir := filepath.Join(s.temp, fmt.Sprint(s.builds))
	began := time.Now()
	manifest, err := build(ctx, s.Source, dir)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	if err := s.listen(manifest.ID); err != nil {
		return err
	}
	manifest.Version = devVersion(manifest.Version, nextBuild(filepath.Join(s.Plugins.Path, s.id)))
	if err := writeManifest(dir, manifest); err != nil {
		return err
	}
	s.say("built %s %s in %v\n", manifest.ID, manifest.Version, time.Since(began).Round(time.Millisecond))
	return s.install(ctx, dir)
}

// listen prints what hubs send of the plugin, from its first build on.
func (s *session) listen(id string) (err error) {
	switch {
	case s.id == id:
		return nil
	case s.id != "":
		return core.Errorf(core.Conflict, "the id of the plugin is now %s: start plugin dev again, or restore %s", id,
			s.id)
	}
	if s.listener, err = plugintap.Listen(s.Plugins.Path, id); err != nil {
		return err
	}
	s.id = id
	s.printed.Go(func() {
		for record := range s.listener.Records {
			s.say("%s", Format(record))
		}
	})
	former := filepath.Join(s.temp, "former")
	if plugindir.VersionIn(filepath.Join(s.Plugins.Path, id)) != "" &&
		pluginhost.CopyInstalled(s.Plugins.Path, id, former) == nil {
		s.good = former
	}
	return nil
}

// install lets the hubs run a build. If a hub rejects it, the hubs run the last good version again.
func (s *session) install(ctx context.Context, dir string) error {
	desired, err := s.hubs.Install(ctx, dir, plugindir.InstallOptions{})
	if err != nil {
		return err
	}
	hubs, err := s.hubs.AwaitReady(ctx, desired, readyTimeout)
	switch {
	case err != nil && ctx.Err() == nil && desired.RejectedBy(hubs) && s.good != "":
		_, undone := s.hubs.Install(ctx, s.good, plugindir.InstallOptions{Force: true})
		return errors.Join(err, undone, os.RemoveAll(dir))
	case err != nil: // no hub tried it, or it is late
		return errors.Join(err, os.RemoveAll(dir))
	}
	if s.good != "" {
		_ = os.RemoveAll(s.good)
	}
	s.good = dir
	s.say("plugin %s %s is %s", desired.ID, desired.Installed, plugindir.Readiness(hubs))
	return nil
}
