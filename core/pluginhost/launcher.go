package pluginhost

import "runtime"

// launcher starts processes from one thread of the system that lives as long as
// it does: the kernel ties a parent's death to the thread that forked, and Go
// ends threads as it likes.
type launcher struct{ work chan func() }

func newLauncher() *launcher {
	l := &launcher{work: make(chan func())}
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the launcher
		for do := range l.work {
			do()
		}
	}()
	return l
}

// run runs do on the launcher's thread.
func (l *launcher) run(do func() error) error {
	done := make(chan error, 1)
	l.work <- func() { done <- do() }
	return <-done
}

// close ends the thread. Nothing may be started afterwards, and what was started
// must have ended: the kernel ends it.
func (l *launcher) close() { close(l.work) }
