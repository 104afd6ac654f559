package devpg

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

const (
	maxLogSize = 10 << 20
	tailLines  = 20
	tailBytes  = 8 << 10
)

// openServerLog opens the log of the server for appending and returns its size. It truncates a log above maxLogSize.
func openServerLog(path string) (*os.File, int64, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_APPEND | syscall.O_NOFOLLOW
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.Size() > maxLogSize:
		flags |= os.O_TRUNC
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, 0, fmt.Errorf("PostgreSQL log: %w", err)
	}
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("PostgreSQL log: %w", err)
	}
	begin, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		_ = file.Close()
		return nil, 0, fmt.Errorf("PostgreSQL log: %w", err)
	}
	return file, begin, nil
}

// logTail returns the last lines that were written after the offset begin.
func logTail(path string, begin int64) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size()-begin > tailBytes {
		begin = info.Size() - tailBytes
	}
	raw, _ := io.ReadAll(io.NewSectionReader(file, begin, tailBytes))
	return lastLines(string(raw))
}

func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return strings.Join(lines, "\n")
}
