package main

import (
	"fmt"
	"runtime/debug"
)

type versionCommand struct{}

// Run prints the version of the program.
func (versionCommand) Run(out output) error {
	_, err := fmt.Fprintln(out.stdout, "servery", version())
	return err
}

// built is the version; the linker sets it.
var built string

// version returns the linked version, or else the module's version and, if known, the commit.
func version() string {
	if built != "" {
		return built
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return info.Main.Version + " " + setting.Value
		}
	}
	return info.Main.Version
}
