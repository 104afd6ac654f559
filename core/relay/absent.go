package relay

import (
	"sync"
	"time"
)

// absentInterval is how often a plugin that does not serve is asked again for a call.
const absentInterval = 5 * time.Minute

// absentPlugins are the plugins that a call has found unavailable. Until such a plugin serves, it is not asked for
// other calls: they wait.
type absentPlugins struct {
	mu    sync.Mutex
	known map[string]absence
}

// absence is what a plugin that does not serve answered last.
type absence struct {
	asked  time.Time
	reason string
}

// mark records that a plugin was asked for a call and does not serve.
func (a *absentPlugins) mark(plugin string, plugins Plugins, now time.Time, reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if plugins.Serves(plugin) {
		return
	}
	if a.known == nil {
		a.known = map[string]absence{}
	}
	a.known[plugin] = absence{now, reason}
}

// reason returns why a plugin that was asked recently does not serve. It returns "" if the plugin is to be asked, and
// forgets a plugin that serves.
func (a *absentPlugins) reason(plugin string, plugins Plugins, now time.Time) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	one, absent := a.known[plugin]
	if absent && plugins.Serves(plugin) {
		delete(a.known, plugin)
		return ""
	}
	if !absent || now.Sub(one.asked) >= absentInterval {
		return ""
	}
	return one.reason
}
