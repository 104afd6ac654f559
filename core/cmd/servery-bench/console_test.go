package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui"
	"github.com/servery-hub/servery/adminui/shell"
)

func TestEveryPageIsMeasuredOrListed(t *testing.T) {
	known := map[string]bool{}
	for _, route := range consolePages {
		path, _, _ := strings.Cut(route, "?")
		known[path] = true
	}
	for route, reason := range unmeasuredPages {
		require.NotEmpty(t, reason, route)
		known[route] = true
	}
	routes := 0
	for _, page := range adminui.New(adminui.Config{Database: struct{ adminui.Database }{}}).Pages() {
		for _, r := range page.Routes {
			isFile, isStream := !strings.HasSuffix(r.Path, "/"), strings.HasPrefix(r.Path, shell.LivePath)
			if r.Method != http.MethodGet || isFile || isStream {
				continue
			}
			path := strings.TrimPrefix(r.Path, shell.Root)
			require.True(t, known[path], "%s is neither measured nor listed with a reason", path)
			routes++
		}
	}
	require.Greater(t, routes, 40)
}
