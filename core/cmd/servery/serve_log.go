package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
)

// logger writes JSON lines. The demo logs to a file, to keep the terminal readable.
func (c serveCommand) logger(out output) (*slog.Logger, func(), error) {
	file := c.LogFile
	if file == "" && c.Demo {
		file = filepath.Join(c.DataDir, "servery.log")
	}
	if file == "" {
		return slog.New(slog.NewJSONHandler(out.stderr, &slog.HandlerOptions{Level: c.LogLevel})), func() {}, nil
	}
	opened, err := openLog(file)
	if err != nil {
		return nil, nil, err
	}
	return slog.New(slog.NewJSONHandler(opened, &slog.HandlerOptions{Level: c.LogLevel})),
		func() { _ = opened.Close() }, nil
}

func openLog(file string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, fmt.Errorf("SERVERY_LOG_FILE: %w", err)
	}
	opened, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("SERVERY_LOG_FILE: %w", err)
	}
	return opened, nil
}
