package shim

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// Name is the first argument of a shim, and its name in the process list.
	Name = "servery-plugin-shim"
	// shimReports is the descriptor for a shim's reports.
	shimReports = 3
	// patientRounds is how often a shim kills only children, until it kills all processes below it. A plugin can start
	// processes faster than they become children.
	patientRounds = 10
)

// init runs the shim, and then does not return. Go initializes packages in the order of their paths once their imports
// are ready, so most packages of the hub are not initialized yet. They would take longer than the start of the plugin.
//
// A shim adopts all orphans of the plugin, in whatever session. It kills them all when the plugin or the host ends.
// It needs no privileges. If the system allows it, the plugin also has its own namespaces; see isolate.
func init() {
	if len(os.Args) != 2 || os.Args[0] != Name {
		return
	}
	runtime.LockOSThread() // the kernel ties the parent-death signal to the thread that forked
	s := &shim{reports: os.NewFile(shimReports, "reports")}
	unix.CloseOnExec(shimReports)
	if err := json.Unmarshal([]byte(os.Args[1]), &s.order); err != nil {
		s.fail("read its order", err)
	}
	s.run()
}

type shim struct {
	order   Order
	reports *os.File
	endOnce sync.Once
}

func (s *shim) run() {
	// A shim has the environment of its plugin, so it has nothing to hide. The id maps of a user namespace can be set
	// only for a dumpable process.
	for _, set := range [][2]int{{unix.PR_SET_CHILD_SUBREAPER, 1}, {unix.PR_SET_DUMPABLE, 1},
		{unix.PR_SET_NO_NEW_PRIVS, 1}} {
		if err := unix.Prctl(set[0], uintptr(set[1]), 0, 0, 0); err != nil {
			s.fail("prepare", err)
		}
	}
	if !s.order.InNamespace {
		s.watchHost()
		// Children inherit it. It cannot be written where /proc is read-only.
		_ = os.WriteFile("/proc/self/oom_score_adj", []byte(FirstToEnd), 0)
	}
	switch {
	case s.order.InNamespace:
		if err := isolate(s.order); err != nil {
			s.fail("isolate", err)
		}
		s.startPlugin(Report{})
	case s.order.NoIsolation:
		s.startPlugin(Report{})
	default:
		s.startIsolated()
	}
}

// watchHost kills everything when the host ends or closes the other end of standard input. A termination signal has the
// same effect.
func (s *shim) watchHost() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		<-signals
		s.killChildren()
	}()
	go func() {
		input := []unix.PollFd{{Fd: 0}} // POLLHUP is always reported
		for {
			if _, err := unix.Poll(input, -1); !errors.Is(err, unix.EINTR) {
				s.killChildren()
				return
			}
		}
	}()
}

// killChildren kills all children until none is left. Their orphans become children, too.
func (s *shim) killChildren() {
	s.endOnce.Do(func() {
		go func() {
			for round := 0; ; round++ {
				left := children(os.Getpid())
				if round >= patientRounds {
					left = Descendants(os.Getpid())
				}
				for _, pid := range left {
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
				time.Sleep(time.Millisecond) // the orphans of a killed child arrive first
			}
		}()
	})
}

// startPlugin runs the plugin as a child of this process.
func (s *shim) startPlugin(report Report) {
	if s.order.Program == "" {
		s.report(report)
		os.Exit(0)
	}
	if err := confine(s.order); err != nil {
		s.fail("set limits", err)
	}
	pid, err := syscall.ForkExec(s.order.Program, []string{s.order.Program}, &syscall.ProcAttr{
		Dir: s.order.Dir, Env: os.Environ(), Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		s.fail("", err)
	}
	report.PID, report.Reaper = pid, os.Getpid()
	s.report(report)
	if !s.order.InNamespace { // the shim outside sees every process
		go s.watchTasks(report.Reaper)
	}
	s.reap(pid, func(status syscall.WaitStatus) { s.report(Report{Ended: exitText(status)}) })
}

// startIsolated runs a second shim in new namespaces, which runs the plugin. If that fails, this shim runs it.
func (s *shim) startIsolated() {
	inside := s.order
	inside.InNamespace = true
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
	pid, err := syscall.ForkExec("/proc/self/exe", []string{Name, string(text)}, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2, to.Fd()},
		Sys: &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS |
				unix.CLONE_NEWNET | unix.CLONE_NEWIPC,
			UidMappings: identity(os.Getuid()), GidMappings: identity(os.Getgid()),
			AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}, Pdeathsig: syscall.SIGKILL,
		},
	})
	_ = to.Close()
	if err != nil {
		s.startPlugin(Report{Unisolated: fmt.Sprintf("namespaces: %v", err)})
		return
	}
	reports := json.NewDecoder(from)
	var report Report
	if err := reports.Decode(&report); err != nil {
		report = Report{Failed: fmt.Sprintf("namespaces: %v", err)}
	}
	if report.Failed != "" && report.Errno == 0 { // the isolation failed, not the program
		_, _ = syscall.Wait4(pid, nil, 0, nil)
		s.startPlugin(Report{Unisolated: report.Failed})
		return
	}
	if report.PID != 0 { // the id inside the namespace
		report.PID, report.Reaper = 0, pid
		if first := children(pid); len(first) > 0 {
			report.PID = first[0]
		}
	}
	s.report(report)
	go s.watchTasks(pid)
	s.reap(pid, func(status syscall.WaitStatus) {
		last := Report{}
		if reports.Decode(&last) != nil {
			last.Ended = exitText(status)
		}
		s.report(last)
	})
}

// reap waits for all children. The end of the first kills the others.
func (s *shim) reap(first int, report func(syscall.WaitStatus)) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil: // no children are left
			os.Exit(0)
		case pid == first:
			report(status)
			if s.order.InNamespace {
				os.Exit(0) // the namespace ends with its first process
			}
			s.killChildren()
		}
	}
}

// report reports to the host. It ignores a host that has ended.
func (s *shim) report(report Report) { _ = json.NewEncoder(s.reports).Encode(report) }

// fail reports why the plugin cannot be run. An empty what means the program itself.
func (s *shim) fail(what string, err error) {
	report := Report{Failed: fmt.Sprintf("%s: %v", what, err)}
	if errno := syscall.Errno(0); what == "" && errors.As(err, &errno) {
		report.Failed, report.Errno = err.Error(), int(errno)
	}
	s.report(report)
	os.Exit(1)
}

// exitText describes how a process ended, as os/exec does, or returns "" for status 0.
func exitText(status syscall.WaitStatus) string {
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

// children returns children of a shim, in the order of their creation, and none only if it has none. It does not
// list the threads: the kernel would cache their directories, and spin while it removes them at the end of the process.
func children(pid int) (children []int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, field := range strings.Fields(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			children = append(children, child)
		}
	}
	if len(children) == 0 { // another thread forked them, or the kernel lacks this file
		return readProcesses().children[pid]
	}
	return children
}
