package devpg

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// settingsFile is included by postgresql.conf and rewritten at each start.
const settingsFile = "servery.conf"

// defaultSettings suit a development machine: more memory than PostgreSQL's defaults, few checkpoints, full durability.
func defaultSettings() map[string]string {
	return map[string]string{
		"autovacuum":                   "on",
		"checkpoint_completion_target": "0.9",
		"fsync":                        "on",
		"lc_messages":                  "C",
		"log_timezone":                 "UTC",
		"max_connections":              "200",
		"max_wal_size":                 "2GB",
		"shared_buffers":               "256MB",
		"synchronous_commit":           "on",
		"timezone":                     "UTC",
		"wal_compression":              "off",
	}
}

// writeSettings writes the defaults, overridden by the extra settings.
func writeSettings(cluster string, owner account, extra map[string]string) error {
	all := defaultSettings()
	maps.Copy(all, extra)
	var text strings.Builder
	text.WriteString("# Written at each start; use ALTER SYSTEM for lasting changes.\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value := all[name]
		if !isSettingName(name) || strings.ContainsAny(value, "\n\r\x00") {
			return fmt.Errorf("PostgreSQL setting %q = %q: not a setting", name, value)
		}
		quoted := strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(value)
		fmt.Fprintf(&text, "%s = '%s'\n", name, quoted)
	}
	return replaceFile(filepath.Join(cluster, settingsFile), []byte(text.String()), owner)
}

func isSettingName(name string) bool {
	return name != "" && strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '.'
	}) < 0
}

// fsyncEnabled reports whether the settings leave fsync on.
func fsyncEnabled(extra map[string]string) bool {
	switch strings.ToLower(extra["fsync"]) {
	case "off", "false", "no", "0":
		return false
	}
	return true
}
