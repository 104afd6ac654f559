package main

import (
	"sync"
	"testing"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// sharedHub is the hub for all tests that use only their own businesses.
var sharedHub struct {
	sync.Mutex
	*hubProcess
}

// useSharedHub returns a hub, with its environment, for tests that neither configure nor stop it. The test must create
// its own businesses.
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

// endSharedHub stops the hub.
func endSharedHub() {
	if sharedHub.hubProcess != nil {
		sharedHub.kill()
	}
}
