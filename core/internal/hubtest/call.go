package hubtest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Reply is a response of the API.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// Object decodes the body, which must be a JSON object.
func (r Reply) Object(t *testing.T) map[string]any {
	t.Helper()
	var object map[string]any
	require.NoError(t, json.Unmarshal(r.Body, &object), "%s", r.Body)
	return object
}

// Call sends a request. The body is nil, JSON text, or a value that is encoded as JSON.
func Call(t *testing.T, method, url, authorization string, body any) Reply {
	t.Helper()
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		content = strings.NewReader(b)
	default:
		encoded, err := json.Marshal(b)
		require.NoError(t, err)
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, url, content)
	require.NoError(t, err)
	if content != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return Reply{response.StatusCode, response.Header, data}
}

// WaitUntil polls a condition, for up to 5 minutes: a busy machine is slow.
func WaitUntil(t *testing.T, what string, condition func() bool) {
	t.Helper()
	never := errors.New(what)
	require.NoError(t, Await(5*time.Minute, func() error {
		if condition() {
			return nil
		}
		return never
	}), "the condition never held")
}

// Await polls until check returns nil. After the timeout it returns the last error. Between two checks it pauses for
// longer than a check takes. Tests that only check would delay the work that they wait for.
func Await(within time.Duration, check func() error) error {
	for end := time.Now().Add(within); ; {
		began := time.Now()
		if err := check(); err == nil || began.After(end) {
			return err
		}
		<-time.After(min(max(4*time.Since(began), 5*time.Millisecond), 200*time.Millisecond))
	}
}

// Lookup returns the value at a path of keys, such as order.details, or nil.
func Lookup(value any, path string) any {
	for _, name := range strings.Split(path, ".") {
		object, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = object[name]
	}
	return value
}

// GzipRepeated returns the gzip of before, of text repeated up to size bytes, and of after.
func GzipRepeated(t *testing.T, before, text, after string, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	require.NoError(t, err)
	_, err = io.WriteString(w, before)
	require.NoError(t, err)
	block := bytes.Repeat([]byte(text), 64<<10/len(text))
	for sent := 0; sent < size; sent += len(block) {
		_, err = w.Write(block)
		require.NoError(t, err)
	}
	_, err = io.WriteString(w, strings.TrimSuffix(text, ",")+after)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}
