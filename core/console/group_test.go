package console

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestErrorsOfOneCauseAreOneGroup(t *testing.T) {
	groups := GroupErrors([]byte(`{"reference":"r","stats":{"items":{"errors":3}},"categories":[],
		"items":[{"ref_id":"a","upipr_status":{"action":"A","error":true,` +
		`"err_msg":"category_ref_ids: there is no category \"x\""}},
			{"ref_id":"b","upipr_status":{"action":"A","error":false,"id":7}},
			{"ref_id":"c","upipr_status":{"action":"A","error":true,` +
		`"err_msg":"category_ref_ids: there is no category \"y 2\""}}],
		"taxes":[{"code":"CGST_P",
			"upipr_status":{"action":"A","error":true,"err_msg":"title is required (5 of 7)"}}]}`))
	require.Equal(t, []Group{
		{Cause: "category_ref_ids: there is no category …", Count: 2, Examples: []Failed{
			{"items", "a", `category_ref_ids: there is no category "x"`},
			{"items", "c", `category_ref_ids: there is no category "y 2"`}}},
		{Cause: "title is required (5 of 7)", Count: 1,
			Examples: []Failed{{"taxes", "CGST_P", "title is required (5 of 7)"}}},
	}, groups)
}

func TestJobResultIsGroupedLikeItsCallback(t *testing.T) {
	require.Equal(t, []Group{{Cause: `platform "z" is unknown`, Count: 1,
		Examples: []Failed{{"stores", "S-8", `platform "z" is unknown`}}}},
		GroupResultErrors([]byte(`{"created":0,"errors":1,"failed":[{"entity":"stores","ref_id":"S-8",`+
			`"message":"platform \"z\" is unknown"}]}`)))
	require.Empty(t, GroupResultErrors(nil))
	require.Empty(t, GroupResultErrors([]byte(`{"created":1}`)))
}

func TestInvalidCallbackBodiesHaveNoErrors(t *testing.T) {
	for _, body := range []string{"", "null", "[]", `{"items":`, `{"items":[{"err_msg"`,
		`{"items":[1,"err_msg",{"x":"err_msg"}]}`} {
		require.Empty(t, GroupErrors([]byte(body)), body)
	}
}

func TestRateIsHundredOnlyWithoutFailures(t *testing.T) {
	require.Equal(t, 99.9, Count{Succeeded: 99999, Failed: 1}.SuccessRate())
	require.Equal(t, 100.0, Count{Succeeded: 5}.SuccessRate())
	require.Equal(t, 100.0, Count{}.SuccessRate())
	require.Equal(t, 0.0, Count{Failed: 5}.SuccessRate())
}
