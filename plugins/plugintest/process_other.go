//go:build !linux

package plugintest

import "context"

// canLook reports whether this system shows the resources of a process. Only Linux does.
const canLook = false

// environment and network do nothing on this system.
func environment(context.Context, *session) error { return nil }

func network(context.Context, *session) error { return nil }

func resident(int) uint64 { return 0 }

func alive(int) bool { return false }
