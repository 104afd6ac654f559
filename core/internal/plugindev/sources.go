package plugindev

import (
	"errors"
	"fmt"
	gobuild "go/build"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// maxSources bounds the files that are watched.
const maxSources = 5000

// sources notices changes of the Go files below a directory, and of the files that they embed.
type sources struct {
	dir     string
	built   map[string]stamp // nil: nothing was built
	pending map[string]stamp // as last seen; a change counts once two looks are equal
}

// stamp changes with a file.
type stamp struct {
	modified time.Time
	size     int64
}

func newSources(dir string) *sources { return &sources{dir: dir} }

// changed reports whether files have changed since it last returned true, and are not being written now.
func (s *sources) changed() (bool, error) {
	seen, err := s.read()
	if err != nil {
		return false, err
	}
	settled := s.built == nil || maps.Equal(seen, s.pending)
	s.pending = seen
	if !settled || s.built != nil && maps.Equal(seen, s.built) {
		return false, nil
	}
	s.built = seen
	return true, nil
}

func (s *sources) read() (map[string]stamp, error) {
	seen, hasGo, embedded := map[string]stamp{}, false, map[string]bool{}
	err := filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			if path != s.dir && errors.Is(err, fs.ErrNotExist) {
				return nil // it was deleted meanwhile
			}
			return err
		}
		name := entry.Name()
		switch {
		case entry.IsDir() && path != s.dir && isSkipped(name):
			return filepath.SkipDir
		case entry.IsDir():
			embedded[path] = embedded[path] || embedded[filepath.Dir(path)]
			addEmbedded(embedded, path)
			return nil
		case !entry.Type().IsRegular() || !isSource(name) && !embedded[path] && !embedded[filepath.Dir(path)]:
			return nil
		}
		hasGo = hasGo || strings.HasSuffix(name, ".go")
		info, err := entry.Info()
		if err != nil {
			return nil // it was deleted meanwhile
		}
		if seen[path] = (stamp{info.ModTime(), info.Size()}); len(seen) > maxSources {
			return fmt.Errorf("%s has more than %d source files: select the directory of the plugin", s.dir, maxSources)
		}
		return nil
	})
	if err == nil && !hasGo {
		err = fmt.Errorf("%s has no Go files", s.dir)
	}
	return seen, err
}

// isSkipped reports whether a directory has no sources of the program.
func isSkipped(name string) bool {
	return strings.HasPrefix(name, ".") || name == "testdata" || name == "vendor"
}

// addEmbedded adds the files and directories that the Go files in a directory embed.
func addEmbedded(embedded map[string]bool, dir string) {
	imported, _ := gobuild.ImportDir(dir, 0) // a build reports what is wrong
	for _, pattern := range imported.EmbedPatterns {
		paths, _ := filepath.Glob(filepath.Join(dir, strings.TrimPrefix(pattern, "all:")))
		for _, path := range paths {
			embedded[path] = true
		}
	}
}

func isSource(name string) bool {
	return name == "go.mod" || name == "go.sum" ||
		strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}

// IsLocal reports whether a database is on this machine: the private one, at a loopback address, or at a Unix socket.
func IsLocal(databaseURL string) bool {
	if databaseURL == "" {
		return true
	}
	parsed, err := url.Parse(databaseURL)
	if err != nil {
		return false
	}
	host := parsed.Hostname()
	if socket := parsed.Query().Get("host"); socket != "" {
		host = socket
	}
	ip := net.ParseIP(host)
	return parsed.Scheme == "unix" || host == "localhost" || strings.HasPrefix(host, "/") ||
		ip != nil && ip.IsLoopback()
}
