package pluginhost

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/servery-hub/servery/core/pluginhost/shim"
)

// isolationTimeout bounds the check whether plugins can be isolated.
const isolationTimeout = 5 * time.Second

// Isolation describes why plugins get no namespaces here, or returns "" if they do. Without them a plugin has the
// rights of the hub's user. It can read that user's files, signal its processes and use the network.
func (h *Host) Isolation() (why string) {
	dir, err := h.runtimeDir.newSubdir()
	if err != nil {
		return err.Error()
	}
	cmd, reports, err := shimCommand(shim.Order{Dir: dir, Hidden: h.hidden, NoIsolation: h.config.NoIsolation})
	switch {
	case err != nil:
		return err.Error()
	case reports == nil:
		return "this system has no namespaces"
	}
	defer reports.Close()
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	for _, file := range cmd.ExtraFiles {
		_ = file.Close()
	}
	if err != nil {
		return err.Error()
	}
	late := time.AfterFunc(isolationTimeout, func() { killTree(cmd.Process.Pid) })
	defer late.Stop()
	var report shim.Report
	err = json.NewDecoder(reports).Decode(&report)
	_ = stdin.Close()
	_ = cmd.Wait()
	if err != nil {
		return "the shim does not respond"
	}
	if h.config.NoIsolation {
		return "isolation is disabled"
	}
	return cmp.Or(report.Failed, report.Unisolated)
}

// warnUnisolated logs once that plugins have no namespaces.
func (h *Host) warnUnisolated(p *process) {
	p.mu.Lock()
	why := p.report.Unisolated
	p.mu.Unlock()
	if why == "" {
		return
	}
	h.warnOnce.Do(func() {
		h.config.Log.Warn("plugins run without isolation", "reason", why)
	})
}
