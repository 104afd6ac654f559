package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/servery-hub/servery/core/internal/environ"
)

// Check returns all mistakes in the database flags.
func (f databaseFlags) Check() error {
	err := f.config().Validate()
	if _, set := os.LookupEnv("SERVERY_DATABASE_URL"); set && f.DatabaseURL == "" {
		err = errors.Join(err,
			errors.New("SERVERY_DATABASE_URL: must not be empty: unset it for the private PostgreSQL"))
	}
	return err
}

// Check returns all mistakes in the flags of a hub.
func (c serveCommand) Check() error {
	_, err := c.config()
	err = errors.Join(err, c.databaseFlags.Check())
	if c.LogFile == "" {
		return err
	}
	opened, unlogged := openLog(c.LogFile)
	if unlogged == nil {
		unlogged = opened.Close()
	}
	return errors.Join(err, unlogged)
}

// places returns the mistakes in the flags with addresses and directories.
func (c serveCommand) places() (mistakes []error) {
	if _, port, err := net.SplitHostPort(c.Listen); err != nil {
		mistakes = append(mistakes, fmt.Errorf("SERVERY_LISTEN: must be HOST:PORT, not %q", c.Listen))
	} else if _, err := net.LookupPort("tcp", port); err != nil {
		mistakes = append(mistakes, fmt.Errorf("SERVERY_LISTEN: unknown port %q", port))
	}
	if info, err := os.Stat(c.PluginDir); c.PluginDir != "" && (err != nil || !info.IsDir()) {
		mistakes = append(mistakes, fmt.Errorf("SERVERY_PLUGIN_DIR: there is not a directory %s", c.PluginDir))
	}
	return append(mistakes, c.simulatorFlags.wrong())
}

// wrongBase checks the hub's public URL. Its pages use absolute paths, so the URL must not have a path.
func wrongBase(text string) error {
	u, err := url.Parse(text)
	if err == nil && environ.IsURL(text) && strings.EqualFold(strings.TrimSuffix(text, "/"), u.Scheme+"://"+u.Host) {
		return nil
	}
	return errors.New("SERVERY_BASE_URL: must be a URL such as https://hub.example.com, without a path")
}
