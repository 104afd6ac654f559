package hub

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMenuAppliesKnownObjects(t *testing.T) {
	d := newMenuClient(t, unlimited)
	accepted := d.ok("POST", menuRoute+"s1/", `{
		"taxes":[{"code":"ST_P","title":"Sales Tax","structure":{"value":7},"item_ref_ids":["dal","ghost"]}],
		"options":[{"ref_id":"hot","title":"Hot","price":1,"opt_grp_ref_ids":["heat","ghost"]}],
		"option_groups":[{"ref_id":"heat","title":"Heat","item_ref_ids":["ghost","dal"]}],
		"items":[{"ref_id":"dal","title":"Dal","price":10,"category_ref_ids":["ghost","curries"]},
			{"ref_id":"naan","title":"Naan","price":2}],
		"categories":[{"ref_id":"curries","name":"Curries","parent_ref_id":"mains"},
			{"ref_id":"mains","name":"Mains"}]}`)
	callback := d.awaitCallback(2)
	for kind, field := range map[string]string{"items": "category_ref_ids", "option_groups": "item_ref_ids",
		"options": "opt_grp_ref_ids", "taxes": "item_ref_ids"} {
		object := callback[kind].([]any)[0].(map[string]any)
		require.Equal(t, false, object["upipr_status"].(map[string]any)["error"])
		warning := object["warnings"].([]any)[0].(map[string]any)
		require.Equal(t, field, warning["path"])
		require.Contains(t, warning["message"], `"ghost"`)
	}
	job := d.ok("GET", "/external/api/v1/jobs/"+accepted.body["reference"].(string)+"/", "")
	require.Len(t, job.body["result"].(map[string]any)["warnings"], 4)

	seen := d.ok("GET", "/channel/api/v1/stores/s1/menu/?platform=web", "")
	require.Equal(t, []any{"curries"}, seen.body["items"].([]any)[0].(map[string]any)["category_ref_ids"])

	d.ok("POST", menuRoute+"s1/",
		`{"taxes":[{"code":"ST_P","structure":{"value":7},"item_ref_ids":["naan"]}]}`)
	warning := d.awaitCallback(3)["warnings"].([]any)[0].(map[string]any)
	require.Equal(t, "taxes[0].item_ref_ids", warning["path"])
	stored := d.ok("GET", menuRoute+"-1/?only=taxes", "").body["taxes"].([]any)[0].(map[string]any)
	require.Equal(t, []any{"dal", "naan"}, stored["item_ref_ids"])
}
