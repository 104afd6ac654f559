//go:build !linux

package plugintest

import (
	"context"
	"os"
	"syscall"
)

// canLook reports whether this system shows the resources of a process. Only Linux does.
const canLook = false

// processAttributes returns no attributes.
func processAttributes(bool) *syscall.SysProcAttr { return nil }

// environment and network do nothing on this system.
func environment(context.Context, *session) error { return nil }

func network(context.Context, *session) error { return nil }

func resident(int) uint64 { return 0 }

func killGroup(program *os.Process) (killed []string) {
	_ = program.Kill()
	return nil
}

func endGroup(int) []string { return nil }
