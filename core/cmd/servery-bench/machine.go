package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/servery-hub/servery/core/internal/figures"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// describeMachine describes this machine and the versions of the programs.
func (r *run) describeMachine() figures.Machine {
	m := figures.Machine{CPU: "unknown processor", Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH,
		Go: runtime.Version(), Settings: map[string]string{}, FsyncMS: fsyncTime(filepath.Join(r.scratch, "fsync")),
		At: time.Now().UTC().Truncate(time.Second)}
	if cpus, err := must(procfs.NewDefaultFS()).CPUInfo(); err == nil && len(cpus) > 0 && cpus[0].ModelName != "" {
		m.CPU = cpus[0].ModelName
	}
	_, version, _ := hubtest.Run(r, r.Hub, nil, "version")
	m.Hub = strings.TrimSpace(version)
	db := openSQL(r.server.DSN(), 1)
	defer db.Close()
	setting := func(name string) (value string) {
		check(db.QueryRowContext(r.ctx, `SELECT current_setting(?)`, name).Scan(&value))
		return value
	}
	m.PostgreSQL = setting("server_version")
	for _, name := range figures.ShownSettings {
		m.Settings[name] = setting(name)
	}
	return m
}

// fsyncTime is the median time, in milliseconds, to write a page durably. Every durable commit costs at least that.
func fsyncTime(path string) float64 {
	file := must(os.Create(path))
	defer file.Close()
	return figures.Median(inTurn(50, func() float64 {
		return timed(func() {
			must(file.WriteAt(make([]byte, 8<<10), 0))
			check(file.Sync())
		})
	})[0])
}
