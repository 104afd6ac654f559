//go:build !linux

package pluginhost

import (
	"os"
	"os/exec"
)

// On other systems a plugin learns of its hub's death by the end of its standard
// input alone, has no limits, and two hubs must not share a directory.

func separate(*exec.Cmd) {}

func limit(int, uint64) error { return nil }

func killGroup(int) {}

func resident(int) uint64 { return 0 }

func condition(int) string { return "" }

func lock(*os.File) bool { return true }

func killFrom(string) {}

func hide() error { return nil }
