package main

import (
	"sync"
	"testing"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// sharedHub is the hub of all tests that need no more of it than businesses of their
// own, from the first of them until the process ends.
var sharedHub struct {
	sync.Mutex
	*hubProcess
}

// useSharedHub is a hub for tests that neither configure nor stop it, and its
// environment. The test makes businesses of its own there.
func useSharedHub(t *testing.T) (*hubProcess, environment) {
	t.Helper()
	env := onDatabase(hubtest.SharedDatabaseURL(t))
	sharedHub.Lock()
	defer sharedHub.Unlock()
	if sharedHub.hubProcess == nil {
		sharedHub.hubProcess = beginHub(t, env)
		sharedHub.awaitReady(t)
	}
	sharedHub.logFailure(t)
	return sharedHub.hubProcess, env
}

// endSharedHub ends it.
func endSharedHub() {
	if sharedHub.hubProcess != nil {
		sharedHub.kill()
	}
}
