// Package buildtest builds programs of this repository for tests that start them.
package buildtest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Program builds the program of a directory into a file, with further flags of go build. The directory can belong to
// another module. Test processes of one run build the program once, in the directory GOTEST_PROGRAMS.
func Program(file, source string, flags ...string) error {
	shared := os.Getenv("GOTEST_PROGRAMS")
	if shared == "" {
		return errors.Join(dependOn(source), build(file, source, flags))
	}
	path, err := filepath.Abs(source)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(strings.Join(append(flags, path), "\n")))
	cached := filepath.Join(shared, hex.EncodeToString(sum[:8]))
	lock, err := os.OpenFile(cached+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if err := buildOnce(cached, source, flags); err != nil {
		return err
	}
	return copyProgram(file, cached)
}

// buildOnce builds a program unless another process of this go test has done so. Concurrent runs build it again,
// because the sources may have changed.
func buildOnce(file, source string, flags []string) error {
	listed := fmt.Sprintf("%s.%d", file, os.Getppid()) // the sources, by the process of go test
	if dirs, err := os.ReadFile(listed); err == nil {
		return dependOnAll(dirs)
	}
	dirs, err := sources(source)
	if err != nil {
		return err
	}
	if err := build(file, source, flags); err != nil { // go build checks whether it is up to date
		return err
	}
	return errors.Join(os.WriteFile(listed, dirs, 0o600), dependOnAll(dirs))
}

func build(file, source string, flags []string) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	// Without symbols, as go test links too: each plugin process runs a copy.
	args := append([]string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", file}, flags...)
	command := exec.Command("go", append(args, ".")...)
	command.Dir, command.Env = source, append(os.Environ(), "CGO_ENABLED=0")
	if text, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", source, err, text)
	}
	return nil
}

func copyProgram(file, from string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// dependOn makes the test result depend on the packages of a program.
func dependOn(source string) error {
	dirs, err := sources(source)
	if err != nil {
		return err
	}
	return dependOnAll(dirs)
}

// sources lists the packages of a program that belong to its module. Each line has the directories of a package and of
// the module.
func sources(source string) ([]byte, error) {
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.Dir}} {{.Dir}}{{end}}{{end}}",
		".")
	list.Dir, list.Env = source, append(os.Environ(), "CGO_ENABLED=0")
	dirs, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the sources of %s: %w", source, err)
	}
	return dirs, nil
}

func dependOnAll(dirs []byte) error {
	for line := range strings.Lines(string(dirs)) {
		dir, module, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, err := os.Stat(filepath.Join(module, "go.sum")); err != nil {
			return err
		}
		if err := DependOn(dir); err != nil {
			return err
		}
	}
	return nil
}

// DependOn reads a directory and its subdirectories without Go files, or named testdata. go test then drops the cached
// result if a file there changes. It does not notice changes of programs that a test starts.
func DependOn(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		if sources, _ := filepath.Glob(filepath.Join(path, "*.go")); !entry.IsDir() || len(sources) > 0 ||
			entry.Name() == "testdata" {
			continue
		}
		if err := DependOn(path); err != nil {
			return err
		}
	}
	return nil
}
