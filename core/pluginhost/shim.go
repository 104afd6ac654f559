package pluginhost

import (
	"errors"
	"sync/atomic"
)

// shimReady is set if this program can act as the shim of a plugin.
var shimReady atomic.Bool

var errNoShim = errors.New("pluginhost.Shim must be the first call of the program's main function")

// shimOrder is the task of a shim.
type shimOrder struct {
	Program     string   `json:",omitzero"` // "" only tests whether isolation works
	Dir         string   // the plugin's own directory: its working directory, and that of its socket
	Hidden      []string `json:",omitzero"` // directories hidden from the plugin
	Data        uint64   `json:",omitzero"` // limit of a process, in bytes; 0: none
	NoIsolation bool     `json:",omitzero"` // without namespaces
	InNamespace bool     `json:",omitzero"` // this shim is the first process of the namespaces
}

// shimReport is a report of a shim. It sends two: one when its plugin runs or has failed to start, and one when it
// has ended.
type shimReport struct {
	PID        int    `json:",omitzero"` // of the plugin
	Reaper     int    `json:",omitzero"` // the process that adopts the plugin's orphans
	Unisolated string `json:",omitzero"` // why the plugin has no namespaces
	Failed     string `json:",omitzero"` // why the plugin failed to start
	Errno      int    `json:",omitzero"`
	Ended      string `json:",omitzero"` // how it ended, unless with status 0
}
