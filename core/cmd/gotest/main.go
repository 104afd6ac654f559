// Command gotest runs go test. It prints one line for each package, the output of failed tests, and a summary with the
// slowest tests. The tests of a run share one PostgreSQL and one directory.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	status, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		status = max(status, 1)
	}
	os.Exit(status)
}

// run runs go test with the given arguments and returns its exit status.
func run(args []string) (status int, err error) {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	dir, err := acquire(runDirPath())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, dir.release()) }()
	dir.startDatabase()
	command := exec.Command("go", append([]string{"test", "-json", "-vet=off"}, args...)...)
	command.Stderr = os.Stderr
	command.Env = append(os.Environ(), dir.environment()...)
	if os.Getenv("GOGC") == "" { // for compilers and linkers too, as in hubtest.Main
		command.Env = append(command.Env, "GOGC=300")
	}
	if slices.Contains(args, "-race") {
		command.Env = append(command.Env, "CGO_ENABLED=1")
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a signal reaches all its processes
	out, err := command.StdoutPipe()
	if err != nil {
		return 0, err
	}
	fmt.Println("go", strings.Join(command.Args[1:], " "))
	start := time.Now()
	if err := command.Start(); err != nil {
		return 0, err
	}
	go func() {
		for range interrupted {
			_ = syscall.Kill(-command.Process.Pid, syscall.SIGINT)
		}
	}()
	r := newReport(os.Stdout)
	readErr := r.read(out)
	waitErr := command.Wait()
	r.summarize(time.Since(start))
	if readErr != nil {
		return 0, readErr
	}
	if status := command.ProcessState.ExitCode(); status != 0 {
		return max(status, 1), nil
	}
	return 0, waitErr
}
