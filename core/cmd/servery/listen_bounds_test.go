package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/webhook"
)

func TestListenRefusesFlagsThatDoNotGoTogether(t *testing.T) {
	secret := webhook.NewSecret()
	for flags, messages := range map[string][]string{
		"--hang --status 200":                             {"--status and --hang are different answers"},
		"--drop --redirect https://a.example":             {"--drop and --redirect are different answers"},
		"--forward http://a.example --status 201":         {"--status and --forward are different answers"},
		"--hang --delay 1s":                               {"--delay waits before an answer"},
		"--fail-first 2 --drop":                           {"it goes with --status or --forward"},
		"--fail-status 503":                               {"give --fail-first too"},
		"--status 101":                                    {"--status: must be from 200 to 599"},
		"--status 600":                                    {"--status: must be from 200 to 599"},
		"--fail-first 1 --fail-status 204":                {"--fail-status: must be from 300"},
		"--redirect /elsewhere":                           {"--redirect: must be an address"},
		"--forward ftp://a.example":                       {"--forward: must be an address"},
		"--forward http://a.example --forward-timeout=0s": {"--forward-timeout: must be longer than 0"},
		"--delay=-1s":                                     {"must not be negative"},
		"--fail-first=-1":                                 {"must not be negative"},
		"--secret hush-hush":                              {"--secret number 1: a signing secret begins with whsec_"},
		"--secret " + secret + " --secret " + secret[:30]: {"--secret number 2: "},
		"--status 99 --hang --drop --forward nowhere":     {"--status: ", "--forward: ", "--status and --hang and --drop and --forward are"},
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

func TestListenBoundsBodies(t *testing.T) {
	screen, printed := testScreen(false, true)
	handler := newListenHandler(listenCommand{}, screen)
	require.EqualValues(t, 64<<20, handler.maxBody)
	handler.maxBody = 3 << 20 // as a limit it acts the same
	post := func(body io.Reader) int {
		printed.Reset()
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", body))
		require.Empty(t, handler.small, "the place is given back")
		require.Empty(t, handler.large)
		return recorder.Code
	}
	require.Equal(t, http.StatusOK, post(bytes.NewReader(make([]byte, listenSmallBody))))
	require.Equal(t, http.StatusOK, post(bytes.NewReader(make([]byte, 3<<20))))
	require.Contains(t, printed.String(), "  3.0 MiB")
	require.Less(t, printed.Len(), 8*listenShownBody)
	require.Equal(t, http.StatusRequestEntityTooLarge, post(bytes.NewReader(make([]byte, 3<<20+1))))
	require.Contains(t, printed.String(), "NOT VERIFIED: the body is larger than 64 MiB")
	require.Equal(t, http.StatusOK, post(io.MultiReader(strings.NewReader("[1"), iotest.ErrReader(io.ErrUnexpectedEOF))), "nobody is there to be answered")
	require.Contains(t, printed.String(), "a delivery broke off after 2 bytes")
	require.Equal(t, listenTally{deliveries: 3, unverified: 1}, handler.tally)
}

func TestListenTakesPostsOnly(t *testing.T) {
	l := startListen(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.url+"/hook", nil)
	require.NoError(t, err)
	response, body := exchange(t, request)
	require.Equal(t, http.StatusMethodNotAllowed, response.StatusCode)
	require.Equal(t, http.MethodPost, response.Header.Get("Allow"))
	require.Contains(t, body, "posted")
	require.Contains(t, l.stderr.String(), "GET /hook answered 405")
	require.Zero(t, l.end())
	require.Contains(t, l.stdout.String(), "0 deliveries, 0 distinct webhook-ids")
}

func TestListenIndentsBodiesForTheScreen(t *testing.T) {
	for body, want := range map[string]string{
		`{"a":[1,2.50],"b":{}}`:        "    {\n      \"a\": [\n        1,\n        2.50\n      ],\n      \"b\": {}\n    }\n",
		`{"a":1,"a":2}`:                "    {\n      \"a\": 1,\n      \"a\": 2\n    }\n",
		`17`:                           "    17\n",
		`{"a":1} and more`:             "    {\"a\":1} and more\n",
		`{"a":`:                        "    {\"a\":\n",
		"text\n\x1b[2J\xff":            "    text\n    \\u001b[2J\uFFFD\n",
		"[\"\u202e\u009b\U000e0001\"]": "    [\n      \"\\u202e\\u009b\\udb40\\udc01\"\n    ]\n",
		"":                             "    \n",
	} {
		require.Equal(t, want, indented([]byte(body)), body)
	}
	for _, body := range []string{
		strings.Repeat("[", 9000), strings.Repeat(`{"a":`, 20000), `[` + strings.Repeat(`{"a":{"b":[]}},`, 20000), "[" + strings.Repeat("1,", 1<<20) + "1]", `["` + strings.Repeat("x", 1<<20) + `"]`, strings.Repeat("é", 1<<20),
	} {
		text := indented([]byte(body))
		require.Less(t, len(text), 8*listenShownBody)
		require.Contains(t, text, "… (clipped: the body has ")
	}
}
