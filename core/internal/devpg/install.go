package devpg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ensureBinaries returns binaries for the cluster. If there are none and Config.Install is set, it installs them.
func ensureBinaries(ctx context.Context, cfg Config, files layout) (binaries, error) {
	major := clusterMajor(files.cluster())
	extra := filepath.Join(files.binaries(), "*", "bin")
	found := cfg.machine.search.find(ctx, files.owner, extra)
	if b, ok := selectBinaries(found, major); ok {
		return b, nil
	}
	if err := ctx.Err(); err != nil { // the search may be incomplete
		return binaries{}, fmt.Errorf("looking for PostgreSQL: %w", err)
	}
	if !cfg.Install {
		return binaries{}, missingError(files, major, found, nil)
	}
	ctx, cancel := withDefaultTimeout(ctx, installWait)
	defer cancel()
	var failures []error
	for _, in := range cfg.machine.installers {
		cfg.Log.Info("installing PostgreSQL", "by", in.name)
		if err := in.install(ctx, cfg.Log, files, major); err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", in.name, err))
		}
		// Search even after an error: the package may be installed although its last step failed.
		found = cfg.machine.search.find(ctx, files.owner, extra)
		if b, ok := selectBinaries(found, major); ok {
			return b, nil
		}
	}
	return binaries{}, missingError(files, major, found, errors.Join(failures...))
}

// missingError explains that no binaries were found, and how to install them.
func missingError(files layout, major int, found []binaries, cause error) error {
	what := fmt.Sprintf("PostgreSQL %d or newer (postgres and initdb) is missing, %s", minMajor, describe(found))
	which := fmt.Sprintf("PostgreSQL %d+", minMajor)
	if major != 0 {
		what = fmt.Sprintf("the cluster %s was made by PostgreSQL %d, which is missing (%s)", files.cluster(), major,
			describe(found))
		which = fmt.Sprintf("PostgreSQL %d (or move the cluster away to begin with an empty one)", major)
	}
	err :=
		fmt.Errorf(
			"%s: install %s, set SERVERY_DATABASE_URL, or allow network access for the installation", what, which)
	if cause != nil {
		err = fmt.Errorf("%w\ntried: %w", err, cause)
	}
	return err
}

// aptScript installs the distribution's server. Without createcluster.conf, the package would create and start its own
// cluster. A failed update is ignored: one broken source must not prevent the installation.
const aptScript = `set -e
export DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1
conf=/etc/postgresql-common/createcluster.conf
if [ ! -e "$conf" ]; then
	mkdir -p "$(dirname "$conf")"
	echo 'create_main_cluster = false' >"$conf"
fi
apt-get -o DPkg::Lock::Timeout=120 update || true
apt-get -o DPkg::Lock::Timeout=120 -o Dpkg::Options::=--force-confold \
	install -y --no-install-recommends postgresql
`

// aptNeeds are the environment variables that apt-get needs in addition to those of every child process.
var aptNeeds = []string{"HOME", "http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy", "APT_CONFIG"}

// aptInstall installs PostgreSQL on Debian and its derivatives, as root or with a sudo that needs no password.
func aptInstall(ctx context.Context, log *slog.Logger, _ layout, major int) error {
	if major != 0 {
		return fmt.Errorf("the distribution has another version than %d", major)
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return errors.New("not a Debian or Ubuntu system")
	}
	command := []string{"sh", "-c", aptScript}
	if os.Geteuid() != 0 {
		allowed := exec.CommandContext(ctx, "sudo", "-n", "true")
		allowed.Env = environment("HOME")
		if err := allowed.Run(); err != nil {
			return errors.New("needs root or a sudo without password")
		}
		command = append([]string{"sudo", "-n"}, command...)
	}
	log.Info("running apt-get install postgresql")
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Env = environment(aptNeeds...)
	// Killing dpkg could leave packages half installed: interrupt it, and wait.
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("apt-get install postgresql: %w\n%s", err, lastLines(strings.TrimSpace(string(out))))
	}
	return nil
}
