package devpg

import (
	"fmt"
	"os"
	"path/filepath"
)

// ForTests is the configuration of the server that all tests share whose temporary
// files lie in a directory. It keeps nothing safe: tests that crash a server start
// one of their own.
func ForTests(temp string) Config {
	return Config{
		DataDir: filepath.Join(temp, fmt.Sprintf("servery-testing-%d", os.Geteuid())),
		Install: true, Testing: true,
		Settings: map[string]string{
			"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
			"autovacuum":      "off", // its launcher sleeps a minute, in which a DROP DATABASE may have to wait for it
			"max_connections": "400", // packages run beside each other, and tests in them
		},
	}
}
