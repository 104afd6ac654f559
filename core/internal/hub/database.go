package hub

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/atomicfile"
	"github.com/servery-hub/servery/core/internal/devpg"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/schema"
	"github.com/servery-hub/servery/core/internal/postgres/seal"
)

// DatabaseConfig selects the database of a hub.
type DatabaseConfig struct {
	URL          string // "": a private PostgreSQL runs in the data directory
	DataDir      string
	SecretKey    string   // seals secrets; "": the key of the data directory
	PreviousKeys []string // may still have sealed secrets
	Connections  int      // maximum; 0: the default
	Create       bool     // create a private PostgreSQL and a key where there are none
	NoSecrets    bool     // without a key, which only a new private PostgreSQL gets
}

// Validate returns all mistakes in the configuration. They name the environment variables.
func (c DatabaseConfig) Validate() error {
	var mistakes []error
	if c.SecretKey != "" {
		if _, err := seal.New(c.SecretKey); err != nil {
			mistakes = append(mistakes, fmt.Errorf("SERVERY_SECRET_KEY: %w", err))
		}
	}
	for i, key := range c.PreviousKeys {
		if _, err := seal.New(key); err != nil {
			mistakes = append(mistakes, fmt.Errorf("SERVERY_SECRET_KEY_PREVIOUS: key %d: %w", i+1, err))
		}
	}
	if c.Connections != 0 && (c.Connections < 8 || c.Connections > 1000) {
		mistakes = append(mistakes, errors.New("SERVERY_DATABASE_CONNECTIONS: must be from 8 to 1000"))
	}
	if c.URL != "" {
		mistakes = append(mistakes, postgres.CheckURL(c.URL))
	}
	return errors.Join(mistakes...)
}

// Database is an open database, with a reference to the private server if it runs there.
type Database struct {
	*postgres.DB
	private    *devpg.Server
	secretDirs []string
}

// OpenDatabase opens a hub's database, ready to seal and open secrets unless NoSecrets is set.
func OpenDatabase(ctx context.Context, c DatabaseConfig, log *slog.Logger) (*Database, error) {
	if c.URL == "" && !c.Create && !devpg.Exists(c.DataDir) {
		return nil, core.WithRemedy(
			fmt.Errorf("there is no hub in %s: set SERVERY_DATA_DIR or SERVERY_DATABASE_URL as for the hub, or "+
				"create one with servery serve", c.DataDir),
			"run the doctor with the settings of the hub, or create one with servery serve")
	}
	sealer, err := c.sealer(log)
	if err != nil {
		return nil, err
	}
	d := &Database{}
	url := c.URL
	if url == "" {
		if d.private, err = devpg.Start(ctx, devpg.Config{DataDir: c.DataDir, Install: true, Log: log}); err != nil {
			return nil, err
		}
		url = d.private.DSN()
	}
	connecting, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if d.DB, err = postgres.Open(connecting,
		postgres.Config{URL: url, Application: "servery", Connections: c.Connections, Log: log}); err != nil {
		d.CloseAll(log)
		return nil, err
	}
	d.UseSealer(sealer)
	d.secretDirs = c.SecretDirs()
	return d, nil
}

// Remedy adds to the error about a database of an earlier build how to start with an empty one.
func (d *Database) Remedy(err error) error {
	switch {
	case !errors.Is(err, schema.ErrEarlierBuild):
		return err
	case d.private != nil:
		return fmt.Errorf("%w: stop all hubs and start with an empty one: mv %s %[2]s.old", err, d.private.Cluster())
	}
	return fmt.Errorf("%w: %s", err, EmptyDatabase)
}

// EmptyDatabase is the remedy for a database of an earlier build.
const EmptyDatabase = "create an empty database (CREATE DATABASE … OWNER …), name it in SERVERY_DATABASE_URL, " +
	"and run `servery migrate up`"

// SecretDirs returns the directories that contain the hub's secrets on this machine. They are the data directory, those
// of a private PostgreSQL, and that of the socket in the URL. It opens and creates nothing.
func (c DatabaseConfig) SecretDirs() (dirs []string) {
	if dir, err := filepath.Abs(c.DataDir); err == nil {
		if dir, err = filepath.EvalSymlinks(dir); err == nil {
			dirs = append(dirs, dir)
		}
	}
	if socket := socketDir(c.URL); socket != "" {
		dirs = append(dirs, socket)
	}
	return append(dirs, devpg.SecretDirs(c.DataDir)...)
}

// socketDir returns the directory of the Unix socket that a database URL names, or "" if it names none.
func socketDir(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return ""
	case u.Scheme == "unix":
		return path.Dir(u.Path)
	}
	return u.Query().Get("host") // of no other kind, see postgres.CheckURL
}

// SecretDirs returns the directories that contain the hub's secrets on this machine. A private server that already ran
// has its socket where its first process wanted it.
func (d *Database) SecretDirs() []string {
	if d.private == nil {
		return d.secretDirs
	}
	return append(slices.Clone(d.secretDirs), d.private.Cluster(), filepath.Dir(d.private.Socket()))
}

// CloseAll closes the database. The last process to close a private one stops it.
func (d *Database) CloseAll(log *slog.Logger) {
	if d.DB != nil {
		_ = d.DB.Close()
	}
	if d.private == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := d.private.Close(ctx); err != nil {
		log.Warn("stopping the private PostgreSQL failed", "error", err)
	}
}

// keyRemedy is the remedy for a missing or malformed key.
const keyRemedy = "set SERVERY_SECRET_KEY as for the hubs, or create one with `openssl rand -hex 32`"

// sealer returns a sealer with the keys, or nil if none is needed.
func (c DatabaseConfig) sealer(log *slog.Logger) (*seal.Sealer, error) {
	if c.NoSecrets && (c.URL != "" || !c.Create) {
		return nil, nil
	}
	key, err := c.secretKey(log)
	if err != nil {
		return nil, err
	}
	sealer, err := seal.New(key, c.PreviousKeys...)
	if err != nil {
		return nil, core.WithRemedy(fmt.Errorf("SERVERY_SECRET_KEY: %w", err), keyRemedy)
	}
	return sealer, nil
}

// secretKey returns the configured key, or that of the data directory. Only a command that may create a hub creates
// this key: no hub could open what another command sealed with its own key.
func (c DatabaseConfig) secretKey(log *slog.Logger) (string, error) {
	if c.SecretKey != "" {
		return c.SecretKey, nil
	}
	file := filepath.Join(c.DataDir, "secret.key")
	key, err := os.ReadFile(file)
	if err == nil {
		return string(key), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", core.WithRemedy(fmt.Errorf("reading the secret key: %w", err),
			"run it as the user who owns the data directory, or set SERVERY_SECRET_KEY")
	}
	if !c.Create {
		return "", core.WithRemedy(
			fmt.Errorf("SERVERY_SECRET_KEY is not set and %s does not exist: set the key of the hubs", file), keyRemedy)
	}
	if err := os.MkdirAll(c.DataDir, 0o755); err != nil {
		return "", fmt.Errorf("creating the data directory: %w", err)
	}
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails (crypto/rand)
	if err := atomicfile.Create(file, []byte(hex.EncodeToString(random)+"\n")); err != nil {
		return "", fmt.Errorf("storing the secret key: %w", err)
	}
	if c.URL != "" {
		log.Warn("secret key created", "file", file,
			"remedy", "back it up, and set it as SERVERY_SECRET_KEY of every hub")
	}
	key, err = os.ReadFile(file) // ours, or that of a faster process
	return string(key), err
}
