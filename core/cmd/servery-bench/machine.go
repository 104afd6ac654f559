package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// machine is where the figures were measured, and of what.
type machine struct {
	Hub        string            `json:"hub"` // its version
	CPU        string            `json:"cpu"`
	Cores      int               `json:"cores"`
	System     string            `json:"system"`
	Go         string            `json:"go"`
	PostgreSQL string            `json:"postgresql"`
	Settings   map[string]string `json:"settings"`
	FsyncMS    float64           `json:"fsync_ms"` // median of writing and syncing 8 KiB beside the database
	At         time.Time         `json:"at"`
}

// shownSettings are those that decide about durability and speed.
var shownSettings = []string{"fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "shared_buffers", "max_wal_size"}

func describeMachine(ctx context.Context, b *bench) (machine, error) {
	m := machine{
		CPU: cpuModel(), Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
		Settings: map[string]string{}, At: time.Now().UTC().Truncate(time.Second),
	}
	ask := exec.CommandContext(ctx, b.Hub, "version")
	ask.Env = withoutSettings(os.Environ())
	version, err := ask.Output()
	if err != nil {
		return m, fmt.Errorf("asking %s for its version: %w", b.Hub, err)
	}
	m.Hub = strings.TrimSpace(string(version))
	db, err := openFloor(b.pg.server.DSN(), 1)
	if err != nil {
		return m, err
	}
	defer db.close()
	show := func(name string) (value string, err error) {
		err = db.bun.QueryRowContext(ctx, `SELECT current_setting(?)`, name).Scan(&value)
		return value, err
	}
	if m.PostgreSQL, err = show("server_version"); err != nil {
		return m, err
	}
	for _, name := range shownSettings {
		if m.Settings[name], err = show(name); err != nil {
			return m, err
		}
	}
	m.FsyncMS, err = fsyncTime(b.scratch)
	return m, err
}

// line is the machine on one line.
func (m machine) line() string {
	settings := make([]string, 0, len(shownSettings))
	for _, name := range shownSettings {
		settings = append(settings, name+"="+m.Settings[name])
	}
	return fmt.Sprintf("%s on %s, %d cores, %s, %s, PostgreSQL %s (%s; durable=fsync %s, one takes %.2f ms)",
		m.Hub, m.CPU, m.Cores, m.System, m.Go, m.PostgreSQL, strings.Join(settings, " "), m.Settings["fsync"], m.FsyncMS)
}

// cpuModel is the processor's name, where the system tells it.
func cpuModel() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// fsyncTime is the median of writing a page to the directory's disk for good,
// in milliseconds: every durable commit costs at least one.
func fsyncTime(dir string) (float64, error) {
	file, err := os.Create(filepath.Join(dir, "fsync"))
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	page := make([]byte, 8<<10)
	rounds := make([]float64, 0, 50)
	for range cap(rounds) {
		began := time.Now()
		if _, err := file.WriteAt(page, 0); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
		rounds = append(rounds, inMilliseconds(time.Since(began)))
	}
	return median(rounds), nil
}
