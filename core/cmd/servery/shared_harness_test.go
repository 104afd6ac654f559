package main

import (
	"sync"
	"testing"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

// sharedHub is the hub for all tests that use only their own businesses.
var sharedHub struct {
	sync.Mutex
	*hubtest.Hub
}

// useSharedHub returns a hub, with its environment, for tests that neither configure nor stop it. The test must create
// its own businesses.
func useSharedHub(t *testing.T) (*hubtest.Hub, environment) {
	t.Helper()
	env := onDatabase(hubtest.SharedDatabaseURL(t))
	sharedHub.Lock()
	defer sharedHub.Unlock()
	if sharedHub.Hub == nil {
		sharedHub.Hub = hubtest.NewHub(builtBinary(t), env)
		sharedHub.Begin(t)
		sharedHub.AwaitReady(t)
	}
	sharedHub.LogFailure(t)
	return sharedHub.Hub, env
}

// endSharedHub stops the hub.
func endSharedHub() {
	if sharedHub.Hub != nil {
		sharedHub.Kill()
	}
}
