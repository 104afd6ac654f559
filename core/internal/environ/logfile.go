package environ

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// OpenLog opens the file of SERVERY_LOG_FILE to append to it. It creates the file and its directories.
func OpenLog(file string) (*os.File, error) {
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	var opened *os.File
	if err == nil {
		opened, err = os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("SERVERY_LOG_FILE: %w", err)
	}
	return opened, nil
}

// CheckLog returns an error if OpenLog would fail. It leaves no new file or directory.
func CheckLog(file string) error {
	if file == "" {
		return nil
	}
	opened, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		opened, err = os.CreateTemp(existingParent(file), ".servery-*")
		if err == nil {
			defer os.Remove(opened.Name())
		}
	}
	if err != nil {
		return fmt.Errorf("SERVERY_LOG_FILE: %w", err)
	}
	return opened.Close()
}

// existingParent returns the nearest directory above a file that exists.
func existingParent(file string) string {
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return dir
		}
	}
}
