package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/internal/hubtest"
)

// The smallest memory limits of deploy/kubernetes, which are those of the console.
const (
	shippedGoLimit = "450MiB"
	shippedCeiling = 512 << 20
	strangersMost  = 150 << 20 // above an idle hub, for unauthenticated clients
)

// hostileRequest is a request that is small on the wire and large in memory.
type hostileRequest struct {
	path, media string
	body        []byte
	plain       bool // not compressed
	allowed     []int
}

// attack sends each request twelve times concurrently.
func attack(t *testing.T, hub *hubtest.Hub, authorization string, requests []hostileRequest) {
	t.Helper()
	for _, r := range requests {
		var under sync.WaitGroup
		for range 12 {
			under.Go(func() {
				sent, err := http.NewRequest(http.MethodPost, hub.URL+r.path, bytes.NewReader(r.body))
				if err != nil {
					t.Error(err)
					return
				}
				sent.Header.Set("Content-Type", r.media)
				sent.Header.Set("Sec-Fetch-Site", "same-origin")
				if authorization != "" {
					sent.Header.Set("Authorization", authorization)
				}
				if !r.plain {
					sent.Header.Set("Content-Encoding", "gzip")
				}
				response, err := http.DefaultClient.Do(sent)
				if err != nil {
					t.Errorf("%s: %v", r.path, err)
					return
				}
				defer response.Body.Close()
				text, _ := io.ReadAll(response.Body)
				allowed := false
				for _, status := range append(r.allowed, 503) {
					allowed = allowed || status == response.StatusCode
				}
				if !allowed {
					t.Errorf("%s: %d %.300s", r.path, response.StatusCode, text)
				}
			})
		}
		under.Wait()
	}
}

var peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak returns the largest resident size of the hub since the last call.
func peak(t *testing.T, hub *hubtest.Hub) int {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/", hub.PID())
	status, err := os.ReadFile(dir + "status")
	require.NoError(t, err)
	found := peakLine.FindSubmatch(status)
	require.NotNil(t, found)
	kib, err := strconv.Atoi(string(found[1]))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(dir+"clear_refs", []byte("5"), 0o600), "the peak starts from here")
	return kib << 10
}

// TestHostileBodiesStayBelowTheMemoryLimit runs a hub with the smallest shipped memory limit.
func TestHostileBodiesStayBelowTheMemoryLimit(t *testing.T) {
	env := onDatabase(hubtest.HubDatabaseURL(t))
	env["GOMEMLIMIT"], env["SERVERY_LIMIT_MENU"] = shippedGoLimit, "off"
	hub := startHub(t, env)
	pos := newAPIClient(t, env)
	idle := peak(t, hub)

	const bomb = 60 << 20
	multipart := hubtest.GzipRepeated(t, "--x\r\nContent-Disposition: form-data; name=\"email\"\r\n\r\n", "a",
		"\r\n--x--\r\n", bomb)
	form, objects := hubtest.GzipRepeated(t, "email=", "a", "", bomb), hubtest.GzipRepeated(t, `{"items":[`, "{},",
		"]}", bomb)
	const multi, urlencoded, jsonType = "multipart/form-data; boundary=x", "application/x-www-form-urlencoded",
		"application/json"
	callback := "/channel/api/v1/a/callback/order/?business=" + strconv.FormatInt(pos.business, 10)
	attack(t, hub, "", []hostileRequest{
		{shell.SignInPath, multi, multipart, false, []int{415}},
		{shell.WelcomePath, multi, multipart, false, []int{415}},
		{shell.SignInPath, urlencoded, form, false, []int{415}},
		{callback, jsonType, objects, false, []int{413}},
		{callback, jsonType, bytes.Repeat([]byte("{},"), 340<<10), true, []int{401, 413}},
		{storesPath, jsonType, objects, false, []int{401}},
		{"/nowhere/", multi, multipart, false, []int{404}},
	})
	unauthenticated := peak(t, hub)

	menu := "/external/api/v1/inventory/locations/-1/"
	known := []hostileRequest{
		{storesPath, jsonType, hubtest.GzipRepeated(t, `{"stores":[`, "{},", "]}", bomb), false, []int{400, 413}},
		{menu, jsonType, objects, false, []int{400, 413}},
		{menu, jsonType, hubtest.GzipRepeated(t, `{"items":[{"ref_id":"a","images":[`, "{},", "]}]}", bomb), false,
			[]int{413}},
		{menu, jsonType, hubtest.GzipRepeated(t, `{"items":[{"ref_id":"a","images":[`, "{},", "]}]}", 1<<20), false,
			[]int{400, 413}},
		{menu, jsonType, hubtest.GzipRepeated(t, `{"x":"`, "abcdefgh", `"}`, bomb), false, []int{400, 413}},
		{"/external/api/v1/webhooks/", jsonType, objects, false, []int{413}},
		{"/hub/api/v1/items/", jsonType, objects, false, []int{413}},
	}
	if largest, err := os.ReadFile(filepath.Join(root, "..", "shared", "data", "menu-max.json")); err == nil {
		known = append(known, hostileRequest{menu, jsonType, largest, true, []int{200, 400}})
	}
	attack(t, hub, pos.authorization, known)
	keys := peak(t, hub)
	t.Logf("peaks in MiB: idle %d, without credentials %d, with keys %d", idle>>20, unauthenticated>>20, keys>>20)
	require.Less(t, unauthenticated-idle, strangersMost)
	require.Less(t, keys, shippedCeiling)
	require.True(t, hub.Running())
}
