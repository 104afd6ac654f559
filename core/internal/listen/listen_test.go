package listen

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// testPrinter prints to a buffer, for tests that call the handler itself.
func testPrinter(json, body bool) (*printer, *bytes.Buffer) {
	var printed bytes.Buffer
	return &printer{out: &printed, err: &printed, json: json, body: body, broken: make(chan error, 1)}, &printed
}

func TestBodiesAreBounded(t *testing.T) {
	s, printed := testPrinter(false, true)
	h := newHandler(Config{}, s)
	require.EqualValues(t, 64<<20, h.maxBody)
	h.maxBody = 3 << 20 // the same as an explicit limit
	post := func(body io.Reader) int {
		printed.Reset()
		recorder := httptest.NewRecorder()
		h.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", body))
		require.Empty(t, h.small, "the place is given back")
		require.Empty(t, h.large)
		return recorder.Code
	}
	require.Equal(t, http.StatusOK, post(bytes.NewReader(make([]byte, smallBody))))
	require.Equal(t, http.StatusOK, post(bytes.NewReader(make([]byte, 3<<20))))
	require.Contains(t, printed.String(), "  3.0 MiB")
	require.Less(t, printed.Len(), 8*shownBody)
	require.Equal(t, http.StatusRequestEntityTooLarge, post(bytes.NewReader(make([]byte, 3<<20+1))))
	require.Contains(t, printed.String(), "NOT VERIFIED: the body is larger than 64 MiB")
	require.Equal(t, http.StatusOK,
		post(io.MultiReader(strings.NewReader("[1"), iotest.ErrReader(io.ErrUnexpectedEOF))),
		"nobody is there to be answered")
	require.Contains(t, printed.String(), "a delivery broke off after 2 bytes")
	require.Equal(t, tally{deliveries: 3, unverified: 1}, h.tally)
}

func TestBodiesAreIndentedForTheScreen(t *testing.T) {
	for body, want := range map[string]string{
		`{"a":[1,2.50],"b":{}}`: "    {\n      \"a\": [\n        1,\n        2.50\n      ],\n      \"b\": " +
			"{}\n    }\n",
		`{"a":1,"a":2}`:                "    {\n      \"a\": 1,\n      \"a\": 2\n    }\n",
		`17`:                           "    17\n",
		`{"a":1} and more`:             "    {\"a\":1} and more\n",
		`{"a":`:                        "    {\n      \"a\":\n",
		"text\n\x1b[2J\xff":            "    text\n    \\u001b[2J\uFFFD\n",
		"[\"\u202e\u009b\U000e0001\"]": "    [\n      \"\\u202e\\u009b\\udb40\\udc01\"\n    ]\n",
		"":                             "    \n",
	} {
		require.Equal(t, want, indented([]byte(body)), body)
	}
	for _, body := range []string{
		strings.Repeat("[", 9000), strings.Repeat(`{"a":`, 20000), `[` + strings.Repeat(`{"a":{"b":[]}},`, 20000),
		"[" + strings.Repeat("1,", 1<<20) + "1]", `["` + strings.Repeat("x", 1<<20) + `"]`, strings.Repeat("é", 1<<20),
	} {
		text := indented([]byte(body))
		require.Less(t, len(text), 8*shownBody)
		require.Contains(t, text, "… (clipped: the body has ")
	}
}
func TestResponseIsDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := testPrinter(false, false)
		h := newHandler(Config{Delay: 2 * time.Second}, s)
		start, recorder := time.Now(), httptest.NewRecorder()
		h.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}")))
		require.Equal(t, 2*time.Second, time.Since(start))
		require.Equal(t, http.StatusOK, recorder.Code)
	})
}

func TestCountedWebhookIDsAreBounded(t *testing.T) {
	counts := newAttemptCounts(3)
	for i, want := range map[int][]int{0: {1, 2}, 1: {1}, 2: {1, 2, 3}} {
		for _, attempt := range want {
			require.Equal(t, attempt, counts.attempt(strconv.Itoa(i)))
		}
	}
	require.False(t, counts.evicted)
	counts.attempt("0")
	counts.attempt("2")
	counts.attempt("3") // evicts 1, the least recent
	require.True(t, counts.evicted)
	require.Equal(t, 4, counts.attempt("0"))
	require.Equal(t, 1, counts.attempt("1"))
	require.Equal(t, 3, counts.recent.Len())
	require.Len(t, counts.byID, 3)
}
func TestForwardingLoopIsDetected(t *testing.T) {
	s, printed := testPrinter(false, false)
	server := httptest.NewUnstartedServer(nil)
	address := "http://" + server.Listener.Addr().String()
	h := newHandler(Config{Forward: address, ForwardTimeout: time.Minute}, s)
	defer h.close()
	server.Config.Handler = h
	server.Start()
	response, err := http.Post(address, "application/json", strings.NewReader("{}"))
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	server.Close()
	require.Equal(t, http.StatusLoopDetected, response.StatusCode)
	require.Contains(t, printed.String(), "leads back to this receiver")
	require.Equal(t, 2, h.tally.deliveries)
}
