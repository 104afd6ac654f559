package devpg

import (
	"context"
	"log/slog"
	"os"
	"time"
)

// machine is what this package uses of the computer.
type machine struct {
	search       search
	fallbackRoot string      // for clusters that the server's user could not reach otherwise
	installers   []installer // in the order in which they are used
	// socketTimeout is how long a running server may have no socket. A starting server creates it at once, before any
	// recovery, but a busy machine can delay that. So the limit is not for a server that this process starts.
	socketTimeout time.Duration
}

// installer installs PostgreSQL. A major version of 0 means any.
type installer struct {
	name    string
	install func(ctx context.Context, log *slog.Logger, at layout, major int) error
}

func thisMachine() *machine {
	return &machine{
		search:        search{path: os.Getenv("PATH"), globs: defaultBinaryDirs()},
		fallbackRoot:  "/var/lib",
		socketTimeout: 5 * time.Second,
		installers: []installer{
			{name: "apt-get", install: aptInstall},
			{name: "download", install: download},
		},
	}
}
