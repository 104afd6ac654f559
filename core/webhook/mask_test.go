package webhook

import (
	"context"
	"encoding/base64"
	stdjson "encoding/json"
	"fmt"
	"html"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestEchoedSecretsAreMasked(t *testing.T) {
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("till:pass/word"))
	for name, row := range map[string]struct {
		header, value string
		answered      string
		kept          string
	}{
		"the value": {"X-Token", "s3cr3t-value", "X-Token: s3cr3t-value, s3cr3t-valu",
			"X-Token: ••••••, s3cr3t-valu"},
		"without its margins":       {"X-Token", " s3cr3t-value ", "<s3cr3t-value>", "<••••••>"},
		"five bytes are not masked": {"X-Env", "stage", "stage", "stage"},
		"six are not":               {"X-Token", "secret", "a secret", "a ••••••"},
		"bearer":                    {"Authorization", "Bearer t0k3n-42", "Bearer t0k3n-42 t0k3n-42", "•••••• ••••••"},
		"basic": {"authorization", basic,
			basic + " | " + basic[6:] + " | till:pass/word | pass/word | till",
			"•••••• | •••••• | •••••• | •••••• | till"},
		"a key with its name": {"Authorization", "apikey till:k-123456", `{"user":"till","key":"k-123456"}`,
			`{"user":"till","key":"••••••"}`},
		"JSON": {"X-Token", `a"b\c/d<e`, `"a\"b\\c/d<e" "a\"b\\c\/d<e" "a\"b\\c/d\u003ce"`,
			`"••••••" "••••••" "••••••"`},
		"HTML, a form":          {"X-Token", `a+b&c=d`, `a+b&amp;c=d a%2Bb%26c%3Dd`, `•••••• ••••••`},
		"repeats in itself":     {"X-Token", "ababab", "abababab, ababa", "••••••, ababa"},
		"within another":        {"Authorization", "Bearer earer t0k", "Bearer earer t0k earer t0k", "•••••• ••••••"},
		"what says the content": {"Accept", "application/json", "application/json", "application/json"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, row.kept, headerMasker(map[string]string{row.header: row.value}).Apply(row.answered))
		})
	}
}

func TestSecretAtTheTruncationPointIsMasked(t *testing.T) {
	body := strings.Repeat("x", 100-8) + "s3cr3t-value and more"
	attempt := Attempt{}
	sender := testSender(t, SenderConfig{KeepLimit: 100})
	response := &http.Response{Body: io.NopCloser(strings.NewReader(body))}
	require.NoError(t, sender.read(response, &attempt, map[string]string{"X-Token": "s3cr3t-value"}))
	require.Equal(t, strings.Repeat("x", 100-8)+Masked[:8], string(attempt.ResponseBody))
}

func TestPartOfASecretIsNotKept(t *testing.T) {
	secret := strings.Repeat("s3cr3t-value/", 10)
	for name, body := range map[string]io.Reader{
		"two of them, longer than the limit": strings.NewReader(secret + strings.Repeat("x", 40) + secret + secret),
		"it starts at the end":               strings.NewReader(strings.Repeat("x", 100-7) + secret + secret + secret),
		"the connection was cut off": io.MultiReader(strings.NewReader(secret[:50]),
			iotest.ErrReader(io.ErrUnexpectedEOF)),
	} {
		attempt := Attempt{}
		sender := testSender(t, SenderConfig{KeepLimit: 100})
		_ = sender.read(&http.Response{Body: io.NopCloser(body), ContentLength: -1}, &attempt,
			map[string]string{"X-Token": secret})
		require.NotContains(t, string(attempt.ResponseBody), secret[:shortestSecret], name)
		require.Contains(t, string(attempt.ResponseBody), Masked[:6], name)
	}
}

func TestClippedHeaderKeepsNoSecret(t *testing.T) {
	long := strings.Repeat("s3cr3t-value/", 200)
	header := http.Header{"X-Long": {strings.Repeat("x", 1000) + long}, "X-Short": {"of pass word"},
		"X-Other": {"word"}}
	masked := maskedHeaders(header, NewMasker(long, "pass word"))
	require.Equal(t, map[string]string{"X-Long": strings.Repeat("x", 1000) + Masked, "X-Short": "of " + Masked,
		"X-Other": "word"}, masked)
}

// firstRead calls a function before the first byte of a body is read.
type firstRead struct {
	io.Reader
	before func()
}

func (r *firstRead) Read(p []byte) (int, error) {
	if r.before != nil {
		r.before()
		r.before = nil
	}
	return r.Reader.Read(p)
}

// Thousands of attempts may wait for slow bodies at once.
func TestWaitingForABodyTakesLittleMemory(t *testing.T) {
	headers, answered := map[string]string{}, http.Header{}
	for n := range MaxHeaders {
		name := fmt.Sprintf("X-%d", n)
		headers[name] = "x a:" + strings.Repeat("&", 400) + name
		answered[name] = []string{html.EscapeString(headers[name])}
	}
	sender := testSender(t, SenderConfig{})
	allocated := func() uint64 {
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.TotalAlloc
	}
	waiting := uint64(math.MaxUint64)
	for range 5 { // other goroutines allocate as well
		attempt, start := Attempt{}, allocated()
		body := &firstRead{strings.NewReader(strings.Repeat("&amp;", 4<<10)), func() {
			waiting = min(waiting, allocated()-start)
		}}
		response := &http.Response{Header: answered, Body: io.NopCloser(body), ContentLength: -1}
		require.NoError(t, sender.read(response, &attempt, headers))
		require.NotContains(t, fmt.Sprint(attempt.ResponseHeaders), "&amp;")
	}
	require.Less(t, waiting, uint64(64<<10))
}

// The endpoint repeats the request anywhere in its response, in several encodings.
func TestRecordNeverContainsASecret(t *testing.T) {
	var filler string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.Header {
			w.Header().Set("X-Echo-"+name, values[0])
		}
		fmt.Fprint(w, filler)
		for _, values := range r.Header {
			long, _ := stdjson.Marshal(values[0])
			short, _ := json.Marshal(values[0])
			php := strings.ReplaceAll(string(short), "/", `\/`)
			fmt.Fprintln(w, values[0], string(long), string(short), php, html.EscapeString(values[0]),
				url.QueryEscape(values[0]))
		}
	}))
	defer server.Close()
	sender := testSender(t, SenderConfig{}, "127.0.0.0/8")
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[A-Z0-9/+=<&"\\-]{6,60}`)
		plain := secret.Draw(t, "value")
		token := secret.Draw(t, "token")
		password := secret.Draw(t, "password")
		headers := map[string]string{"X-Token": plain, "Authorization": rapid.SampledFrom([]string{
			"Bearer " + token, "Basic " + base64.StdEncoding.EncodeToString([]byte(token+":"+password)),
			"apikey me:" + token,
		}).Draw(t, "authorization")}
		filler = strings.Repeat("x", rapid.IntRange(0, 5000).Draw(t, "filler"))
		d := testDelivery(server.URL)
		d.Headers = headers
		attempt := sender.Post(context.Background(), d)
		require.True(t, attempt.OK(), attempt.Error)
		record := fmt.Sprint(attempt.RequestHeaders, attempt.ResponseHeaders, string(attempt.ResponseBody),
			attempt.Error)
		called := sender.Exchange(context.Background(), Request{Method: "POST", URL: server.URL, Secrets: headers})
		record += fmt.Sprint(called.RequestHeaders, called.ResponseHeaders, string(called.ResponseBody), called.Error)
		for _, value := range append([]string{plain, token, password}, headers["Authorization"]) {
			for _, form := range encodedForms(value) {
				require.NotContains(t, record, form)
			}
		}
		require.Contains(t, attempt.ResponseHeaders["X-Echo-X-Token"], Masked)
		require.LessOrEqual(t, len(attempt.ResponseBody), 4<<10)
	})
}
