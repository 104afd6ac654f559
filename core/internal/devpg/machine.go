package devpg

import (
	"context"
	"log/slog"
	"os"
	"time"
)

// machine is what the package takes from the computer it runs on.
type machine struct {
	search       search
	fallbackRoot string      // for clusters the server's user could not reach
	installers   []installer // tried in turn
	// patience is how long a living server may have no socket. It makes one
	// at once when it starts, before any recovery.
	socketTimeout time.Duration
}

// installer is one way to get PostgreSQL onto the machine. major is the wanted
// major version, 0 for any.
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
