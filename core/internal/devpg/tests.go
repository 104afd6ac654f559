package devpg

import (
	"fmt"
	"os"
	"path/filepath"
)

// ForTests returns the configuration of the server that all tests share. The server is not durable: a test that crashes
// a server must start its own.
func ForTests(temp string) Config {
	return Config{
		DataDir: filepath.Join(temp, fmt.Sprintf("servery-testing-%d", os.Geteuid())),
		Install: true, Testing: true,
		Settings: map[string]string{
			"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
			"autovacuum":      "off", // a DROP DATABASE may have to wait for its launcher, which sleeps for a minute
			"max_connections": "400", // packages and tests run in parallel
			"jit":             "off", // compiling costs more than the statements of tests
			"wal_level":       "minimal",
			"max_wal_senders": "0", // nothing is replicated, as wal_level minimal requires
		},
	}
}
