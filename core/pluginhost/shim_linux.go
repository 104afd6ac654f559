package pluginhost

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// shimName is the first argument of a shim, and how it is shown in the list of processes.
	shimName = "servery-plugin-shim"
	// shimReports is the descriptor on which a shim reports.
	shimReports = 3
)

// Shim is for the beginning of a program that opens a Host: on Linux the host starts
// the program a second time beside each plugin, as the shim that is the plugin's
// parent. In a shim it does not return.
//
// A shim adopts whatever processes the plugin leaves behind, in whatever session, and
// ends them all when the plugin ends or the host does. It needs no privileges. Where
// the system allows it, the plugin has namespaces of its own, too; see isolate.
func Shim() {
	if len(os.Args) != 2 || os.Args[0] != shimName {
		shimReady.Store(true)
		return
	}
	runtime.LockOSThread() // the kernel ties the death of a parent to the thread that forked
	s := &shim{reports: os.NewFile(shimReports, "reports")}
	unix.CloseOnExec(shimReports)
	if err := json.Unmarshal([]byte(os.Args[1]), &s.order); err != nil {
		s.fail("read its order", err)
	}
	s.run()
}

type shim struct {
	order   shimOrder
	reports *os.File
	ending  sync.Once
}

func (s *shim) run() {
	// A shim begins with the environment of its plugin, so that there is nothing to hide;
	// and the identifiers of a namespace can be set for a process that is dumpable alone.
	for _, set := range [][2]int{{unix.PR_SET_CHILD_SUBREAPER, 1}, {unix.PR_SET_DUMPABLE, 1}, {unix.PR_SET_NO_NEW_PRIVS, 1}} {
		if err := unix.Prctl(set[0], uintptr(set[1]), 0, 0, 0); err != nil {
			s.fail("prepare", err)
		}
	}
	if !s.order.Inside {
		s.watch()
	}
	switch {
	case s.order.Inside:
		if err := isolate(s.order); err != nil {
			s.fail("isolate", err)
		}
		s.startPlugin(shimReport{})
	case s.order.Plain:
		s.startPlugin(shimReport{})
	default:
		s.startInside()
	}
}

// watch ends everything when the host ends or says so: it holds the other end of the
// standard input. A signal to end is taken the same way.
func (s *shim) watch() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		<-signals
		s.end()
	}()
	go func() {
		input := []unix.PollFd{{Fd: 0}} // POLLHUP is always told of
		for {
			if _, err := unix.Poll(input, -1); !errors.Is(err, unix.EINTR) {
				s.end()
				return
			}
		}
	}()
}

// end kills all children until none is left; what they leave become children, too.
func (s *shim) end() {
	s.ending.Do(func() {
		go func() {
			for {
				for _, pid := range childrenOf(os.Getpid()) {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
				time.Sleep(time.Millisecond) // a child that is killed has to leave its own first
			}
		}()
	})
}

// startPlugin runs the plugin as a child of this process.
func (s *shim) startPlugin(report shimReport) {
	if s.order.Program == "" {
		s.say(report)
		os.Exit(0)
	}
	pid, err := syscall.ForkExec(s.order.Program, []string{s.order.Program}, &syscall.ProcAttr{
		Dir: s.order.Dir, Env: os.Environ(), Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		s.fail("", err)
	}
	if err := limit(pid, s.order.Data); err != nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		s.fail("set limits", err)
	}
	report.PID, report.Keeper = pid, os.Getpid()
	s.say(report)
	s.reap(pid, func(status syscall.WaitStatus) { s.say(shimReport{Ended: ended(status)}) })
}

// startInside runs a second shim in namespaces of its own, which runs the plugin. Where
// that cannot be, this one does.
func (s *shim) startInside() {
	inside := s.order
	inside.Inside = true
	text, err := json.Marshal(inside)
	if err != nil {
		s.fail("write an order", err)
	}
	from, to, err := os.Pipe()
	if err != nil {
		s.fail("make a pipe", err)
	}
	identity := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	pid, err := syscall.ForkExec("/proc/self/exe", []string{shimName, string(text)}, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2, to.Fd()},
		Sys: &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC,
			UidMappings: identity(os.Getuid()), GidMappings: identity(os.Getgid()),
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}, Pdeathsig: syscall.SIGKILL,
		},
	})
	_ = to.Close()
	if err != nil {
		s.startPlugin(shimReport{Plain: fmt.Sprintf("namespaces: %v", err)})
		return
	}
	said := json.NewDecoder(from)
	var report shimReport
	if err := said.Decode(&report); err != nil {
		report = shimReport{Failed: fmt.Sprintf("namespaces: %v", err)}
	}
	if report.Failed != "" && report.Errno == 0 { // of the isolation, not of the program
		_, _ = syscall.Wait4(pid, nil, 0, nil)
		s.startPlugin(shimReport{Plain: report.Failed})
		return
	}
	if report.PID != 0 { // it has counted within the namespace
		report.PID, report.Keeper = 0, pid
		if first := childrenOf(pid); len(first) > 0 {
			report.PID = first[0]
		}
	}
	s.say(report)
	s.reap(pid, func(status syscall.WaitStatus) {
		last := shimReport{}
		if said.Decode(&last) != nil {
			last.Ended = ended(status)
		}
		s.say(last)
	})
}

// reap waits for all children; the end of the first ends the others.
func (s *shim) reap(first int, tell func(syscall.WaitStatus)) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil: // there are no more
			os.Exit(0)
		case pid == first:
			tell(status)
			if s.order.Inside {
				os.Exit(0) // the namespace ends with its first process
			}
			s.end()
		}
	}
}

// say reports to the host. One that has gone needs no report.
func (s *shim) say(report shimReport) { _ = json.NewEncoder(s.reports).Encode(report) }

// fail reports why the plugin cannot be run: what is empty is the program itself.
func (s *shim) fail(what string, err error) {
	report := shimReport{Failed: fmt.Sprintf("%s: %v", what, err)}
	if errno := syscall.Errno(0); what == "" && errors.As(err, &errno) {
		report.Failed, report.Errno = err.Error(), int(errno)
	}
	s.say(report)
	os.Exit(1)
}

// ended says how a process ended, as os/exec does; "" is status 0.
func ended(status syscall.WaitStatus) string {
	switch {
	case status.Signaled():
		text := "signal: " + status.Signal().String()
		if status.CoreDump() {
			text += " (core dumped)"
		}
		return text
	case status.ExitStatus() != 0:
		return fmt.Sprintf("exit status %d", status.ExitStatus())
	}
	return ""
}

// childrenOf lists the children of a process, in the order in which they came.
func childrenOf(pid int) (children []int) {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	tasks, _ := os.ReadDir(dir)
	for _, task := range tasks {
		text, err := os.ReadFile(dir + "/" + task.Name() + "/children")
		if errors.Is(err, os.ErrNotExist) && task.Name() == fmt.Sprint(pid) { // a kernel without them
			return childrenByParent(pid)
		}
		for _, field := range strings.Fields(string(text)) {
			var child int
			if _, err := fmt.Sscan(field, &child); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}

func childrenByParent(parent int) (children []int) {
	for _, pid := range processes() {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, after, _ := strings.Cut(string(text), ") ")
		var state string
		var of int
		if _, err := fmt.Sscan(after, &state, &of); err == nil && of == parent {
			children = append(children, pid)
		}
	}
	return children
}
