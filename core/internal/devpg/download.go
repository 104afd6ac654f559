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

// mavenCentral is the repository of the library's binaries.
const mavenCentral = "https://repo1.maven.org/maven2"

// newestDownload is the major version for a new cluster.
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

// download fetches binaries from Maven Central into the cluster's directory, where the server's user can reach them.
// The library ignores ctx: a running download continues after ctx ends.
func download(ctx context.Context, log *slog.Logger, files layout, major int) error {
	if major == 0 {
		major = newestDownload
	}
	version, ok := downloadVersion(major)
	if !ok {
		return fmt.Errorf("no binaries of PostgreSQL %d to download", major)
	}
	if err := files.prepare(); err != nil {
		return err
	}
	target := filepath.Join(files.binaries(), strconv.Itoa(major))
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

// fetch makes the library unpack the binaries without creating a cluster. The library has no function for that. The
// data directory is therefore invalid, so that it fails after unpacking.
func fetch(repository, target string, version embeddedpostgres.PostgresVersion) error {
	blocker := filepath.Join(target, "no-cluster")
	if err := os.WriteFile(blocker, nil, 0o600); err != nil {
		return fmt.Errorf("download PostgreSQL: %w", err)
	}
	cause := embeddedpostgres.NewDatabase(embeddedpostgres.DefaultConfig().
		Version(version).
		BinaryRepositoryURL(repository).
		Port(0). // it requires a free TCP port, but uses none
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

// makeReadable lets every user read the binaries regardless of the umask, because root does not run them itself.
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
