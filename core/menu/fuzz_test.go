package menu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

func FuzzDecodeTimings(f *testing.F) {
	for _, seed := range []string{
		`{"timing_groups":[{"title":"Breakfast","category_ref_ids":["mains"],"day_slots":[{"day":"monday",` +
			`"slots":[{"start_time":"06:00","end_time":"11:00"}]}]}]}`,
		`{"timing_groups":[{"title":"Night","category_ref_ids":[],"day_slots":null}],` +
			`"callback_url":"https://pos.example.com/"}`,
		`{"timing_groups":[{"title":"a"},{"title":"a"},null]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		request, err := DecodeTimings(body)
		if err != nil {
			require.Equal(t, core.Invalid, core.CodeOf(err))
			return
		}
		titles := map[string]bool{}
		for _, group := range request.Groups {
			require.False(t, titles[group.Title], "no title twice")
			titles[group.Title] = true
		}
	})
}

func FuzzParseView(f *testing.F) {
	f.Add("items,categories", "10", "items:dal")
	f.Add("", "0", ":")
	f.Fuzz(func(t *testing.T, only, limit, after string) {
		view, err := ParseView(only, limit, after)
		if err != nil {
			require.Equal(t, core.Invalid, core.CodeOf(err))
			return
		}
		require.True(t, view.Limit >= 0 && view.Limit <= MaxPage)
	})
}
