package sdk

import (
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// watchParent calls gone, once, when the process that started this one has
// ended: told by the system where it can, by the end of standard input where the
// host holds it, and by looking once a second. A signal to end is ignored while
// the parent lives: it decides when its plugins end.
func watchParent(gone func()) {
	parent := os.Getppid()
	once := sync.OnceFunc(gone)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	askForSignal()
	go func() {
		look := time.NewTicker(time.Second)
		defer look.Stop()
		for os.Getppid() == parent {
			select {
			case <-signals:
			case <-look.C:
			}
		}
		once()
	}()
	if os.Getenv(StdinHeld) == "1" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			once()
		}()
	}
}
