package devpg

import (
	"archive/zip"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// repository serves an archive like Maven Central: a tar.xz in a jar. Its programs create a file when they run.
func repository(t *testing.T, trace string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o700))
	for _, name := range []string{"postgres", "initdb", "pg_ctl"} {
		script := "#!/bin/sh\necho \"$0\" >>" + trace + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "bin", name), []byte(script), 0o700))
	}
	tar := exec.Command("tar", "-cJf", "postgres.txz", "bin")
	tar.Dir = dir
	if out, err := tar.CombinedOutput(); err != nil {
		t.Skipf("cannot make the archive: %s", out)
	}
	packed, err := os.ReadFile(filepath.Join(dir, "postgres.txz"))
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ".jar") {
			http.NotFound(w, r)
			return
		}
		jar := zip.NewWriter(w)
		if file, err := jar.Create("postgres.txz"); err == nil {
			_, _ = file.Write(packed)
		}
		_ = jar.Close()
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestFetchUnpacksAndStartsNothing(t *testing.T) {
	t.Parallel()
	target := filepath.Join(dataDir(t), "18")
	require.NoError(t, os.Mkdir(target, 0o755))
	trace := filepath.Join(t.TempDir(), "trace")

	require.NoError(t, fetch(repository(t, trace), target, embeddedpostgres.V18))
	assert.NoFileExists(t, trace, "no program was run")
	assert.NoDirExists(t, filepath.Join(target, "archive"))
	info, err := os.Stat(filepath.Join(target, "bin", "postgres"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o755), info.Mode().Perm(), "readable for the server's user")
}

func TestFetchWithoutNetworkFails(t *testing.T) {
	t.Parallel()
	err := fetch("http://127.0.0.1:1", t.TempDir(), embeddedpostgres.V18)
	require.ErrorContains(t, err, "no binaries were unpacked")
	assert.ErrorContains(t, err, "unable to connect")
}
