package plugindev

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/servery-hub/servery/core/internal/plugindir"
	"github.com/servery-hub/servery/plugins/plugintest"
	"github.com/servery-hub/servery/plugins/sdk"
)

const (
	buildTimeout = 2 * time.Minute
	killDelay    = 2 * time.Second
)

// build compiles the package in a directory and returns the manifest of the program, which is in the other directory.
// An error has the output of the compiler.
func build(ctx context.Context, source, into string) (*sdk.Manifest, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, buildTimeout,
		fmt.Errorf("the build took longer than %v", buildTimeout))
	defer cancel()
	program := filepath.Join(into, "plugin")
	command := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", program, ".")
	command.Dir, command.Env = source, buildEnvironment(os.Environ())
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) } // the compilers too
	command.WaitDelay = killDelay
	output, err := command.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("building %s: %w\n%s", source, err, bytes.TrimSpace(output))
	}
	if info, err := os.Stat(program); err != nil || info.Mode()&0o111 == 0 {
		return nil, errors.Join(fmt.Errorf("%s is no main package", source), err)
	}
	text, err := plugintest.ManifestOf(ctx, program, "")
	if err != nil {
		return nil, err
	}
	manifest, err := sdk.ParseManifest(text)
	if err != nil {
		return nil, err
	}
	manifest.Binaries[0].Path = manifest.ID // as make build names it, so that each build replaces the one before
	return manifest, os.Rename(program, filepath.Join(into, manifest.ID))
}

// buildEnvironment returns an environment without the settings of the hub, which have secrets.
func buildEnvironment(environment []string) (kept []string) {
	for _, pair := range environment {
		if !strings.HasPrefix(pair, "SERVERY_") {
			kept = append(kept, pair)
		}
	}
	return kept
}

// nextBuild returns the number of the next build of a plugin, after that of the installed version.
func nextBuild(installed string) int {
	_, number, _ := strings.Cut(plugindir.VersionIn(installed), "+dev.")
	n, _ := strconv.Atoi(number) // 0 if the version is no such build
	return n + 1
}

// devVersion returns the version of a build. It replaces other build metadata, since a version has one such part.
func devVersion(version string, build int) string {
	version, _, _ = strings.Cut(version, "+")
	return version + "+dev." + strconv.Itoa(build)
}

func writeManifest(dir string, manifest *sdk.Manifest) error {
	text, err := manifest.YAML()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, sdk.ManifestName), text, 0o600)
}
