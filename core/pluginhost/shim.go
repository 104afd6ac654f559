package pluginhost

import (
	"errors"
	"sync/atomic"
)

// shimReady tells that this program becomes the shim of a plugin when it is started as one.
var shimReady atomic.Bool

var errNoShim = errors.New("pluginhost.Shim must be the first call of the program's main function")

// shimOrder is what a shim is to do.
type shimOrder struct {
	Program string   `json:",omitzero"` // "" only tries out whether it can be isolated
	Dir     string   // the plugin's own directory; it works there, and its socket is there
	Hidden  []string `json:",omitzero"` // directories that the plugin must not see
	Data    uint64   `json:",omitzero"` // limit of a process, in bytes; 0: none
	Plain   bool     `json:",omitzero"` // without namespaces
	Inside  bool     `json:",omitzero"` // this shim is the first process of the namespaces
}

// shimReport is what a shim says, twice: once its plugin runs or cannot be run, and
// once it has ended.
type shimReport struct {
	PID    int    `json:",omitzero"` // of the plugin
	Keeper int    `json:",omitzero"` // the process to which what the plugin leaves behind belongs
	Plain  string `json:",omitzero"` // why the plugin has no namespaces of its own
	Failed string `json:",omitzero"` // why the plugin cannot be run
	Errno  int    `json:",omitzero"`
	Ended  string `json:",omitzero"` // how it ended, unless with status 0
}
