package devpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// mavenCentral is where the library's binaries are published.
const mavenCentral = "https://repo1.maven.org/maven2"

// newestDownload is the major version taken when any will do.
const newestDownload = 18

func downloadVersion(major int) (embeddedpostgres.PostgresVersion, bool) {
	switch major {
	case 14:
		return embeddedpostgres.V14, true
	case 15:
		return embeddedpostgres.V15, true
	case 16:
		return embeddedpostgres.V16, true
	case 17:
		return embeddedpostgres.V17, true
	case 18:
		return embeddedpostgres.V18, true
	}
	return "", false
}

// download fetches binaries from Maven Central into the place of the cluster,
// where the server's user can reach them. The library cannot be interrupted:
// when ctx ends, a download under way goes on until it fails or succeeds.
func download(ctx context.Context, log *slog.Logger, at layout, major int) error {
	if major == 0 {
		major = newestDownload
	}
	version, ok := downloadVersion(major)
	if !ok {
		return fmt.Errorf("no binaries of PostgreSQL %d to download", major)
	}
	if err := at.prepare(); err != nil {
		return err
	}
	target := filepath.Join(at.binaries(), strconv.Itoa(major))
	if err := os.MkdirAll(target, 0o755); err != nil {
		return fmt.Errorf("creating the directory for binaries: %w", err)
	}
	log.Info("downloading PostgreSQL", "version", string(version), "into", target)
	done := make(chan error, 1)
	go func() { done <- fetch(mavenCentral, target, version) }()
	select {
	case <-ctx.Done():
		return fmt.Errorf("download PostgreSQL: %w", ctx.Err())
	case err := <-done:
		return err
	}
}

// fetch makes the library unpack the binaries and nothing else. It has no call
// for that, it always goes on to make a cluster; so it is given a directory
// for the cluster that cannot be one, and fails right after unpacking.
func fetch(repository, target string, version embeddedpostgres.PostgresVersion) error {
	blocker := filepath.Join(target, "no-cluster")
	if err := os.WriteFile(blocker, nil, 0o600); err != nil {
		return fmt.Errorf("download PostgreSQL: %w", err)
	}
	cause := embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		Version(version).
		BinaryRepositoryURL(repository).
		Port(0). // it insists on a free TCP port although none is used
		BinariesPath(target).
		CachePath(filepath.Join(target, "archive")).
		RuntimePath(filepath.Join(target, "runtime")).
		DataPath(filepath.Join(blocker, "data")).
		Logger(io.Discard)).Start()
	bin := filepath.Join(target, "bin")
	if !executable(filepath.Join(bin, "postgres")) || !executable(filepath.Join(bin, "initdb")) {
		return errors.Join(errors.New("download PostgreSQL: no binaries were unpacked"), cause)
	}
	for _, rest := range []string{"archive", "runtime"} {
		_ = os.RemoveAll(filepath.Join(target, rest))
	}
	return makeReadable(target)
}

// makeReadable lets every user read the binaries, whatever the umask was: root
// does not run them itself.
func makeReadable(root string) error {
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() | 0o444
		if entry.IsDir() || mode&0o100 != 0 {
			mode |= 0o111
		}
		return os.Chmod(path, mode)
	})
	if err != nil {
		return fmt.Errorf("making binaries readable: %w", err)
	}
	return nil
}
