package hub

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestConsoleFindsRejectedJobsWithFullErrors(t *testing.T) {
	f, sam := newConsoleRelayClient(t, nil)
	f.ok("POST", "/external/api/v1/stores/",
		`{"stores":[{"ref_id":"S-8","name":"Eight"}]}`)
	var found apiResponse
	hubtest.WaitUntil(t, "the job is found by the store that it refused", func() bool {
		found = sam.get(t, shell.SearchPath+"?q="+url.QueryEscape("S-8"))
		return found.status == 303
	})
	reference := strings.Split(found.header.Get("Location"), "/")[5]
	read := f.ok("GET", "/external/api/v1/jobs/"+reference+"/", "")
	failed := read.body["result"].(map[string]any)["failed"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"stores", "S-8"}, []any{failed["entity"], failed["ref_id"]})
	require.Equal(t, "city is required to create a store", failed["message"])
	page := sam.get(t, found.header.Get("Location"))
	require.Contains(t, page.text, "Not applied: 1 of 1 store.")
	require.Contains(t, page.text, "Done, 1 of 1 failed")
	require.Contains(t, page.text, "city is required to create a store", "alone, it is shown whole")
}

func TestJobListsItsFirstFailedObjects(t *testing.T) {
	f, _ := newConsoleRelayClient(t, nil)
	stores := make([]string, core.MaxFailedObjects+1)
	for i := range stores {
		stores[i] = fmt.Sprintf(`{"ref_id":"F-%03d"}`, i)
	}
	failed := func(path, body string) (list []any) {
		path = "/external/api/v1/jobs/" + f.ok("POST", path, body).body["reference"].(string) + "/"
		hubtest.WaitUntil(t, "the job is done", func() bool {
			result, _ := f.ok("GET", path, "").body["result"].(map[string]any)
			list, _ = result["failed"].([]any)
			return result != nil
		})
		return list
	}
	list := failed("/external/api/v1/stores/", `{"stores":[`+strings.Join(stores, ",")+`]}`)
	require.Len(t, list, core.MaxFailedObjects)
	require.Equal(t, "F-099", list[core.MaxFailedObjects-1].(map[string]any)["ref_id"])
	list = failed("/external/api/v1/inventory/locations/-1/",
		`{"items":[{"ref_id":"pie","title":"Pie","price":1},{"ref_id":"cake","price":1}],
		"taxes":[{"code":"ST_P","title":"Sales Tax","structure":{"type":"percentage","applicable_on":"item.price",`+
			`"value":5},"item_ref_ids":["nothing"]}]}`)
	require.Equal(t, map[string]any{"entity": "items", "ref_id": "cake",
		"message": list[0].(map[string]any)["message"]}, list[0])
}
