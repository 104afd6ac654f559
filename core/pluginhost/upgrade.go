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
func (k *keeper) upgrade(ctx context.Context, old *instance, w wish) *instance {
	p, err := readParcel(k.host.config.Dir, k.id)
	if err == nil && p.text == old.parcel.text {
		k.spend()
		w.answer(nil)
		return old
	}
	var i *instance
	if err == nil {
		i, err = k.start(ctx, p, func(State) {}) // the old one keeps serving
	}
	if err != nil {
		k.mu.Lock()
		k.version = old.parcel.manifest.Version
		k.mu.Unlock()
		if lost := k.keepSpare(old); lost != nil {
			k.note(fmt.Errorf("storing version %s failed: %w", old.parcel.manifest.Version, lost), false)
		}
		w.answer(k.refuse(p.text, old.parcel.manifest.Version, err))
		return old
	}
	k.spend()
	k.serve(i)
	k.retiring.Go(func() { // the new one is already supervised
		k.retire(old, false)
		w.answer(nil)
	})
	return i
}

// keepSpare keeps the program of an instance as a fallback, because another version is installed in its place.
func (k *keeper) keepSpare(i *instance) error {
	if k.spare != nil { // it is what runs
		return nil
	}
	dir, err := k.host.den.room()
	if err != nil {
		return err
	}
	spare := i.parcel
	spare.program = filepath.Join(dir, filepath.Base(i.process.program))
	if err := os.Link(i.process.program, spare.program); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	k.spare = &spare
	return nil
}

// spend removes the fallback, because the installed version runs.
func (k *keeper) spend() {
	if k.spare != nil {
		_ = os.RemoveAll(filepath.Dir(k.spare.program))
		k.spare = nil
	}
}

// refuse records that the installed version does not get ready while another version serves.
func (k *keeper) refuse(text, serves string, cause error) error {
	k.refused = text
	err := fmt.Errorf("the upgrade was rejected, and version %s runs until the hub restarts: %w", serves, cause)
	k.note(err, false)
	return err
}

// retire ends an instance after its running calls, with a time limit.
func (k *keeper) retire(i *instance, last bool) {
	if last {
		k.withdraw(i)
		k.enter(Draining)
	}
	due, giveUp := k.host.config.Clock.At(k.host.config.Clock.Now().Add(k.host.config.DrainWithin))
	defer giveUp()
	select {
	case <-i.leave():
	case <-i.process.ended:
	case <-due:
		k.note(errors.New("its calls did not end in time and were cancelled"), false)
	}
	drain, cancel := until(context.Background(), k.host.config.Clock, healthWithin)
	defer cancel()
	_ = i.client.Drain(drain) // a last chance to clean up; it ends whatever it answers
	i.end()
}
