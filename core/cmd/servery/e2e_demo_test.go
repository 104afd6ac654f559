package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/receiver"
	"github.com/servery-hub/servery/core/internal/hubtest"
)

// demo is a running `servery serve --demo` with the values that it printed.
type demo struct {
	*hubtest.Hub
	authorization, curl string
}

var (
	bannerKey  = regexp.MustCompile(`Authorization: (apikey \S+:\S+)`)
	bannerCurl = regexp.MustCompile(`(?s)\n(\s*curl .+?\}')\n`)
)

func startDemo(t *testing.T, env environment) demo {
	t.Helper()
	d := demo{Hub: startHub(t, env, "--demo")}
	hubtest.WaitUntil(t, "the banner, once the hub answers",
		func() bool { return bannerCurl.MatchString(d.Out.String()) })
	banner := d.Out.String()
	key, curl := bannerKey.FindStringSubmatch(banner), bannerCurl.FindStringSubmatch(banner)
	require.NotNil(t, key, banner)
	require.NotNil(t, curl, banner)
	d.authorization, d.curl = key[1], curl[1]
	require.Contains(t, d.curl, d.URL)
	return d
}

// runCurl runs the printed command in a shell, and waits until the receiver shows its callback.
func (d demo) runCurl(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Log("this machine has no curl")
		return
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", d.curl).Output()
	require.NoError(t, err, d.curl)
	var response struct{ Status, Reference string }
	require.NoError(t, json.Unmarshal(out, &response), "%s", out)
	require.Equal(t, "success", response.Status)
	require.NotEmpty(t, response.Reference)
	eventually(t, waitTimeout, func() error {
		shown := hubtest.Call(t, "GET", d.URL+receiver.Path+"deliveries.json", "", nil)
		if shown.Status != http.StatusOK || !strings.Contains(string(shown.Body), response.Reference) {
			return fmt.Errorf("the receiver answers %d without %s: %.500s", shown.Status, response.Reference,
				shown.Body)
		}
		require.True(t, json.Valid(shown.Body), "%s", shown.Body)
		return nil
	})
	page := hubtest.Call(t, "GET", d.URL+receiver.Path, "", nil)
	require.Equal(t, http.StatusOK, page.Status)
	require.Contains(t, page.Header.Get("Content-Type"), "text/html")
}

func TestDemoCommandsWorkAndStateSurvivesRestart(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	env := environment{"SERVERY_DATA_DIR": dir, "SERVERY_LISTEN": "127.0.0.1:0"}
	first := startDemo(t, env)
	first.runCurl(t)
	cluster := filepath.Join(dir, "postgres")
	require.NotEmpty(t, hubtest.ProcessesIn(cluster))
	require.Zero(t, first.Terminate(t))
	hubtest.RequireNoProcess(t, dir)

	second := startDemo(t, env)
	require.Equal(t, first.authorization, second.authorization)
	require.Equal(t, http.StatusOK,
		hubtest.Call(t, "GET", second.URL+storesPath+"S-1/", second.authorization, nil).Status)
	second.runCurl(t)
	pid := hubtest.Postmaster(t, dir)
	second.Kill()
	require.NotEmpty(t, hubtest.ProcessesIn(cluster), "a kill leaves the private PostgreSQL running")

	third := startDemo(t, env)
	require.Equal(t, first.authorization, third.authorization)
	require.Equal(t, pid, hubtest.Postmaster(t, dir), "which is joined")
	third.runCurl(t)

	beside := newAPIClient(t, env)
	require.Equal(t, pid, hubtest.Postmaster(t, dir))
	require.Equal(t, http.StatusOK, hubtest.Call(t, "GET", third.URL+storesPath, beside.authorization, nil).Status)
	require.True(t, third.Running())
	require.Zero(t, third.Stop(t, stopSignals()[len(stopSignals())-1]), "its terminal is closed")
	hubtest.RequireNoProcess(t, dir)
}
