package main

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/webhook"
)

func TestListenRejectsConflictingFlags(t *testing.T) {
	secret := webhook.NewSecret()
	for flags, messages := range map[string][]string{
		"--hang --status 200":                             {"--status and --hang cannot be combined"},
		"--drop --redirect https://a.example":             {"--drop and --redirect cannot be combined"},
		"--forward http://a.example --status 201":         {"--status and --forward cannot be combined"},
		"--hang --delay 1s":                               {"--delay and --hang cannot be combined"},
		"--fail-first 2 --drop":                           {"--fail-first cannot be combined"},
		"--fail-status 503":                               {"--fail-status requires --fail-first"},
		"--status 101":                                    {"--status: must be from 200 to 599"},
		"--status 600":                                    {"--status: must be from 200 to 599"},
		"--fail-first 1 --fail-status 204":                {"--fail-status: must be from 300"},
		"--redirect /elsewhere":                           {"--redirect: must be a URL"},
		"--forward ftp://a.example":                       {"--forward: must be a URL"},
		"--forward http://a.example --forward-timeout=0s": {"--forward-timeout: must be longer than 0"},
		"--delay=-1s":                                     {"must not be negative"},
		"--fail-first=-1":                                 {"must not be negative"},
		"--secret hush-hush": {
			"--secret number 1: a signing secret must begin with whsec_"},
		"--secret " + secret + " --secret " + secret[:30]: {"--secret number 2: "},
		"--status 99 --hang --drop --forward nowhere": {"--status: ", "--forward: ",
			"--status and --hang and --drop and --forward cannot"},
	} {
		var stdout, stderr bytes.Buffer
		arguments := append([]string{"listen", "--listen", "127.0.0.1:0"}, strings.Fields(flags)...)
		require.Equal(t, 1, run(t.Context(), arguments, output{&stdout, &stderr}), flags)
		for _, message := range messages {
			require.Contains(t, stderr.String(), message, flags)
		}
		require.Empty(t, stdout.String(), flags)
		require.NotContains(t, stderr.String(), "hush-hush")
		require.NotContains(t, stderr.String(), secret[6:30])
	}
}

func TestListenTakesPostsOnly(t *testing.T) {
	l := startListen(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.url+"/hook", nil)
	require.NoError(t, err)
	response, body := exchange(t, request)
	require.Equal(t, http.StatusMethodNotAllowed, response.StatusCode)
	require.Equal(t, http.MethodPost, response.Header.Get("Allow"))
	require.Contains(t, body, "posted")
	require.Contains(t, l.stderr.String(), "GET /hook returned 405")
	require.Zero(t, l.end())
	require.Contains(t, l.stdout.String(), "0 deliveries, 0 distinct webhook-ids")
}
