package devpg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// clusterMajor returns the major version that created a cluster, or 0.
func clusterMajor(cluster string) int {
	raw, err := os.ReadFile(filepath.Join(cluster, "PG_VERSION"))
	if err != nil {
		return 0
	}
	major, _ := leadingNumber(string(raw))
	return major
}

// clusterExists reports whether there is a complete cluster. createCluster renames a finished directory, so a cluster
// without its control file is damaged or foreign.
func clusterExists(cluster string) bool {
	_, err := os.Stat(filepath.Join(cluster, "global", "pg_control"))
	return err == nil && clusterMajor(cluster) != 0
}

// createCluster runs initdb in a temporary directory and renames it at the end, so that an interrupted initdb leaves no
// cluster. It does nothing if the cluster exists.
func createCluster(ctx context.Context, log *slog.Logger, files layout, bins binaries, cfg Config) error {
	if clusterExists(files.cluster()) {
		return nil
	}
	if err := files.prepare(); err != nil {
		return err
	}
	if err := moveAside(log, files.cluster()); err != nil {
		return err
	}
	removeLeftovers(log, files.cluster())

	dir, err := os.MkdirTemp(files.base, filepath.Base(files.cluster())+".init-*")
	if err != nil {
		return fmt.Errorf("create cluster: %w", err)
	}
	log.Info("creating the database cluster", "dir", files.cluster(), "postgresql", bins.major)
	if err := initCluster(ctx, files.owner, bins, dir, cfg); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	if err := os.Rename(dir, files.cluster()); err != nil {
		return fmt.Errorf("create cluster: %w", err)
	}
	return syncDir(files.base)
}

// initCluster creates a cluster in an empty directory.
func initCluster(ctx context.Context, owner account, bins binaries, dir string, cfg Config) error {
	if err := owner.chown(dir); err != nil {
		return err
	}
	args := []string{
		"-D", dir, "-U", superuser, "--auth=reject", "--encoding=UTF8", "--lc-messages=C", "--data-checksums",
		"--no-instructions",
	}
	if !fsyncEnabled(cfg.Settings) {
		args = append(args, "--no-sync")
	}
	out, err := run(ctx, owner, bins.initdb(), append(args, "--locale=C.UTF-8")...)
	if err != nil && strings.Contains(out, "invalid locale") {
		_, err = run(ctx, owner, bins.initdb(), append(args, "--locale=C")...)
	}
	if err != nil {
		return fmt.Errorf("create cluster: %w", err)
	}
	conf, err := os.ReadFile(filepath.Join(dir, "postgresql.conf"))
	if err != nil {
		return fmt.Errorf("create cluster: %w", err)
	}
	conf = append(conf, "\ninclude_if_exists = '"+settingsFile+"'\n"...)
	if err := replaceFile(filepath.Join(dir, "postgresql.conf"), conf, owner); err != nil {
		return err
	}
	if err := replaceFile(filepath.Join(dir, "pg_hba.conf"), []byte(hbaConf), owner); err != nil {
		return err
	}
	return createRoles(ctx, owner, bins, dir, cfg)
}

// moveAside renames an incomplete cluster. It deletes nothing, because the directory may hold the only copy of data.
func moveAside(log *slog.Logger, cluster string) error {
	entries, err := os.ReadDir(cluster)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && len(entries) == 0 {
		err = os.Remove(cluster)
	} else {
		aside := cluster + ".broken-" + time.Now().UTC().Format("20060102T150405.000")
		log.Warn("moved away an incomplete database cluster", "dir", cluster, "to", aside)
		err = os.Rename(cluster, aside)
	}
	if err != nil {
		return fmt.Errorf("moving an incomplete cluster away: %w", err)
	}
	return nil
}

// removeLeftovers deletes the directories of interrupted initdb runs. It only logs failures, because such a run may
// still be writing.
func removeLeftovers(log *slog.Logger, cluster string) {
	leftovers, _ := filepath.Glob(cluster + ".init-*")
	for _, dir := range leftovers {
		if err := os.RemoveAll(dir); err != nil {
			log.Warn("removing an unfinished initdb failed", "error", err)
		}
	}
}

// syncDir makes a rename in the directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}
