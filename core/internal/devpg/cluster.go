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

// clusterMajor returns the major version a cluster was made by, 0 for none.
func clusterMajor(cluster string) int {
	raw, err := os.ReadFile(filepath.Join(cluster, "PG_VERSION"))
	if err != nil {
		return 0
	}
	major, _ := leadingNumber(string(raw))
	return major
}

// clusterExists reports whether there is a whole cluster. initdb works in a
// directory of another name, so a cluster that lacks its control file was not
// made by this package or was damaged.
func clusterExists(cluster string) bool {
	_, err := os.Stat(filepath.Join(cluster, "global", "pg_control"))
	return err == nil && clusterMajor(cluster) != 0
}

// createCluster runs initdb in a directory beside the cluster and renames it
// when everything is done: what a killed initdb leaves is never taken for a
// cluster. It does nothing when the cluster exists.
func createCluster(ctx context.Context, log *slog.Logger, at layout, bins binaries, cfg Config) error {
	if clusterExists(at.cluster()) {
		return nil
	}
	if err := at.prepare(); err != nil {
		return err
	}
	if err := moveAside(log, at.cluster()); err != nil {
		return err
	}
	removeLeftovers(log, at.cluster())

	dir, err := os.MkdirTemp(at.base, filepath.Base(at.cluster())+".init-*")
	if err != nil {
		return fmt.Errorf("create cluster: %w", err)
	}
	log.Info("creating the database cluster", "dir", at.cluster(), "postgresql", bins.major)
	if err := initCluster(ctx, at.owner, bins, dir, cfg); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	if err := os.Rename(dir, at.cluster()); err != nil {
		return fmt.Errorf("create cluster: %w", err)
	}
	return syncDir(at.base)
}

// initCluster makes a cluster in an empty directory.
func initCluster(ctx context.Context, owner account, bins binaries, dir string, cfg Config) error {
	sync := fsyncEnabled(cfg.Settings)
	if err := owner.chown(dir); err != nil {
		return err
	}
	out, err := initdb(ctx, owner, bins, dir, "C.UTF-8", sync)
	if err != nil && strings.Contains(out, "invalid locale") {
		_, err = initdb(ctx, owner, bins, dir, "C", sync)
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

func initdb(ctx context.Context, owner account, bins binaries, dir, locale string, sync bool) (string, error) {
	args := []string{
		"-D", dir, "-U", superuser, "--auth=reject", "--encoding=UTF8",
		"--locale=" + locale, "--lc-messages=C", "--data-checksums", "--no-instructions",
	}
	if !sync {
		args = append(args, "--no-sync")
	}
	return run(ctx, owner, bins.initdb(), args...)
}

// moveAside moves away what stands at the cluster's name but is none. It is not
// deleted, as it may be all that is left of somebody's data.
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

// removeLeftovers deletes what killed runs of initdb left. Such a run may have lost only
// its parent and still be writing, hence a failure is no more than untidy.
func removeLeftovers(log *slog.Logger, cluster string) {
	left, _ := filepath.Glob(cluster + ".init-*")
	for _, dir := range left {
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
