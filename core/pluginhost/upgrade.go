package pluginhost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// upgrade replaces an instance with the installed version, if that differs. The old one ends after its calls. If the
// new one does not get ready, the old one stays, and is restarted if it ends.
func (k *supervisor) upgrade(ctx context.Context, old *instance, w desiredState) *instance {
	p, err := readInstalled(k.host.config.Dir, k.id)
	if err == nil && p.manifestDigest == old.installed.manifestDigest {
		k.dropFallback()
		w.reply(nil)
		return old
	}
	var i *instance
	if err == nil {
		i, err = k.start(ctx, p, func(State) {}) // the old one keeps serving
	}
	if err != nil {
		k.mu.Lock()
		k.version = old.installed.manifest.Version
		k.mu.Unlock()
		if ctx.Err() != nil { // the hub is stopping
			w.reply(ctx.Err())
			return old
		}
		if lost := k.saveFallback(old); lost != nil {
			k.recordFault(&fault{kind: FaultStart,
				text: fmt.Sprintf("storing version %s failed: %v", old.installed.manifest.Version, lost)})
		}
		w.reply(k.rejectUpgrade(p.manifestDigest, old.installed.manifest.Version, err))
		return old
	}
	k.dropFallback()
	k.resetFaults() // those of the old version
	k.serve(i)
	k.draining.Go(func() { // the new one is already supervised
		k.drain(old, false)
		w.reply(nil)
	})
	return i
}

// saveFallback keeps the program of an instance as a fallback, because another version replaces it in the plugin
// directory.
func (k *supervisor) saveFallback(i *instance) error {
	if k.fallback != nil { // the fallback is running
		return nil
	}
	dir, err := k.host.runtimeDir.newSubdir()
	if err != nil {
		return err
	}
	fallback := i.installed
	fallback.program = filepath.Join(dir, filepath.Base(i.process.program))
	err = os.Link(i.process.program, fallback.program)
	if err == nil {
		err = checkRegular(fallback.program)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	k.fallback = &fallback
	return nil
}

// checkRegular returns an error unless a path is a regular file. A plugin can replace its program, and reading a pipe
// or a device would not end.
func checkRegular(path string) error {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("its program was replaced")
	}
	return err
}

// dropFallback removes the fallback, because the installed version runs.
func (k *supervisor) dropFallback() {
	if k.fallback != nil {
		_ = os.RemoveAll(filepath.Dir(k.fallback.program))
		k.fallback = nil
	}
}

// rejectUpgrade records that the installed version does not get ready while another version serves. digest is that
// of its manifest.
func (k *supervisor) rejectUpgrade(digest, serves string, cause error) error {
	k.rejectedDigest = digest
	err := fmt.Errorf("the upgrade was rejected, and version %s runs until the hub restarts: %w", serves, cause)
	k.recordFault(&fault{kind: FaultStart, text: err.Error()})
	return err
}

// drain ends an instance after its running calls, with a time limit.
func (k *supervisor) drain(i *instance, last bool) {
	if last {
		k.clearCurrent(i)
		k.setState(Draining)
	}
	due, stopTimer := k.host.config.Clock.At(k.host.config.Clock.Now().Add(drainTimeout))
	defer stopTimer()
	select {
	case <-i.startDraining():
	case <-i.process.ended:
	case <-due:
		k.recordFault(&fault{kind: FaultDeadline, text: "its calls did not end in time and were cancelled"})
	}
	i.retire()
	drain, cancel := withTimeout(context.Background(), k.host.config.Clock, healthTimeout)
	defer cancel()
	_ = i.client.Drain(drain) // a chance to clean up; the result does not matter
	i.terminate()
}
