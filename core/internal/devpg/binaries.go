package devpg

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// minMajor is the oldest supported major version.
const minMajor = 14

// binaries is a directory with the programs of one PostgreSQL version.
type binaries struct {
	dir   string
	major int
}

func (b binaries) postgres() string { return filepath.Join(b.dir, "postgres") }
func (b binaries) initdb() string   { return filepath.Join(b.dir, "initdb") }

// search lists the places to look for binaries.
type search struct {
	path  string   // in the form of $PATH
	globs []string // directories of binaries
}

// defaultBinaryDirs returns the directories that packages use and do not add to the PATH: Debian, Red Hat, Homebrew,
// source builds, Postgres.app.
func defaultBinaryDirs() []string {
	return []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
		"/usr/local/pgsql/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	}
}

// find returns the usable binaries: first those in the PATH, in its order, then the others, newest first. It omits
// binaries that the account cannot reach.
func (s search) find(ctx context.Context, owner account, extra ...string) []binaries {
	var found []binaries
	add := func(dir string) {
		if b, ok := inspect(ctx, dir); ok && owner.canReach(b.dir) && !slices.Contains(found, b) {
			found = append(found, b)
		}
	}
	for _, dir := range filepath.SplitList(s.path) {
		if filepath.IsAbs(dir) {
			add(dir)
		}
	}
	inPath := len(found)
	for _, glob := range append(slices.Clone(s.globs), extra...) {
		dirs, _ := filepath.Glob(glob)
		for _, dir := range dirs {
			add(dir)
		}
	}
	slices.SortStableFunc(found[inPath:], func(a, b binaries) int { return cmp.Compare(b.major, a.major) })
	return found
}

// inspect looks for postgres and initdb in dir. It follows a link first, because only the real directory has all
// programs.
func inspect(ctx context.Context, dir string) (binaries, bool) {
	program, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
	if err != nil {
		return binaries{}, false
	}
	for _, d := range []string{filepath.Dir(program), dir} {
		if !executable(filepath.Join(d, "postgres")) || !executable(filepath.Join(d, "initdb")) {
			continue
		}
		if major, ok := majorOf(ctx, filepath.Join(d, "postgres")); ok {
			return binaries{dir: d, major: major}, true
		}
	}
	return binaries{}, false
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// majorOf returns the major version of a server program.
func majorOf(ctx context.Context, postgres string) (int, bool) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := run(ctx, ownAccount(), postgres, "--version")
	if err != nil {
		return 0, false
	}
	// "postgres (PostgreSQL) 15.7 (Debian 15.7-0+deb12u1)", or "18beta1"
	_, version, ok := strings.Cut(out, "(PostgreSQL) ")
	if !ok {
		return 0, false
	}
	return leadingNumber(version)
}

func leadingNumber(text string) (int, bool) {
	end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(text)
	}
	n, err := strconv.Atoi(text[:end])
	return n, err == nil
}

// selectBinaries returns the first binaries that can run a cluster of the major version. With major 0, it returns those
// for a new cluster.
func selectBinaries(found []binaries, major int) (binaries, bool) {
	for _, b := range found {
		if b.major == major || major == 0 && b.major >= minMajor {
			return b, true
		}
	}
	return binaries{}, false
}

func describe(found []binaries) string {
	if len(found) == 0 {
		return "none found"
	}
	var parts []string
	for _, b := range found {
		parts = append(parts, fmt.Sprintf("%d in %s", b.major, b.dir))
	}
	return "found " + strings.Join(parts, ", ")
}
