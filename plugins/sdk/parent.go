package sdk

import (
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// watchParent calls gone once when the parent process has ended. It uses the system's signal, the end of standard
// input if the host holds it open, and a check every second. It ignores SIGTERM while the parent lives, because the
// host decides when its plugins end.
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
