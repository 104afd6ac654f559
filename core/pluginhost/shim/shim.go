// Package shim is the parent process of a plugin. On Linux a host of plugins starts its own program again for each
// plugin. A program that imports this package then becomes the shim, before its main function.
package shim

// Order is the task of a shim.
type Order struct {
	Program     string   `json:",omitzero"` // "" only tests whether isolation works
	Dir         string   // the plugin's own directory: its working directory, and that of its socket
	Hidden      []string `json:",omitzero"` // directories hidden from the plugin
	Data        uint64   `json:",omitzero"` // limit of a process, in bytes; 0: none
	NoIsolation bool     `json:",omitzero"` // without namespaces
	InNamespace bool     `json:",omitzero"` // this shim is the first process of the namespaces
}

// Report is a report of a shim. It sends two: one when its plugin runs or has failed to start, and one when it
// has ended.
type Report struct {
	PID        int    `json:",omitzero"` // of the plugin
	Reaper     int    `json:",omitzero"` // the process that adopts the plugin's orphans
	Unisolated string `json:",omitzero"` // why the plugin has no namespaces
	Failed     string `json:",omitzero"` // why the plugin failed to start
	Errno      int    `json:",omitzero"`
	Ended      string `json:",omitzero"` // how it ended, unless with status 0
}
