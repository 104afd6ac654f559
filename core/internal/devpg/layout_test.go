package devpg

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func TestUnreadableDataDirMovesTheCluster(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root switches users")
	}
	parent, fallback := dataDir(t), dataDir(t)
	require.NoError(t, os.Chmod(parent, 0o700))
	cfg := fastConfig(filepath.Join(parent, ".servery"))
	cfg.machine = thisMachine()
	cfg.machine.fallbackRoot = fallback

	first := start(t, cfg)
	assert.True(t, strings.HasPrefix(first.layout.cluster(), fallback+"/servery-"), first.layout.cluster())
	assert.NoDirExists(t, filepath.Join(parent, ".servery", "postgres"))
	second := start(t, cfg)
	assert.Equal(t, first.Socket(), second.Socket())
	require.NoError(t, first.Close(t.Context()))
	require.NoError(t, second.Close(t.Context()))

	require.NoError(t, os.Chmod(parent, 0o755))
	third := start(t, cfg)
	assert.Equal(t, first.layout.cluster(), third.layout.cluster(), "an existing cluster is not left behind")
}

func TestJoinUnderAnotherTempDir(t *testing.T) {
	dir, temp := preparedDir(t), dataDir(t)
	first := start(t, fastConfig(dir))
	t.Setenv("TMPDIR", temp)
	second := start(t, fastConfig(dir))
	assert.Equal(t, first.Socket(), second.Socket())
}

func TestSocketPathStaysShort(t *testing.T) {
	files := layout{data: "/x", owner: account{uid: 4294967294}}
	t.Setenv("TMPDIR", "/"+strings.Repeat("long/", 30))
	assert.True(t, strings.HasPrefix(files.socketDir(), "/tmp/servery-"))
	t.Setenv("TMPDIR", "relative")
	assert.True(t, strings.HasPrefix(files.socketDir(), "/tmp/servery-"))
}

func TestForeignSocketDirIsRejected(t *testing.T) {
	t.Parallel()
	dir, user := dataDir(t), ownAccount()
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(dir, link))
	assert.ErrorContains(t, makeSocketDir(link, user), "symbolic link")
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.ErrorContains(t, makeSocketDir(file, user), "not a directory")
	assert.ErrorContains(t, checkSocketDir(dir, account{uid: user.uid + 1}), "belongs to uid")
	files := layout{data: dir, owner: user}
	require.NoError(t, os.WriteFile(files.socketDir(), nil, 0o600))
	defer os.Remove(files.socketDir())
	_, err := launch(files, binaries{})
	assert.Equal(t, socketRemedy, core.RemedyOf(err), err)

	wide := filepath.Join(dir, "wide")
	require.NoError(t, os.Mkdir(wide, 0o777))
	require.NoError(t, makeSocketDir(wide, user))
	info, err := os.Stat(wide)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestServerLogIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "postgres.log")
	require.NoError(t, os.WriteFile(path, []byte("old\n"), 0o600))
	file, begin, err := openServerLog(path)
	require.NoError(t, err)
	_, err = file.WriteString("new\n")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	assert.Equal(t, "new", logTail(path, begin))

	require.NoError(t, os.Truncate(path, maxLogSize+1))
	file, begin, err = openServerLog(path)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	assert.Zero(t, begin)
}
