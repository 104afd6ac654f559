package adminui_test

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/webhook"
)

// finalHub returns a hub with three failed deliveries, the last of an order in a final state.
func finalHub() *fake {
	f := fullHub()
	for i := range f.deliveries[:3] {
		f.deliveries[i].State = webhook.Failed
	}
	for i := range f.deliveries[3:] {
		f.deliveries[3+i].State = webhook.Delivered
	}
	f.final = []core.ID{f.deliveries[2].ID}
	return f
}

const leftOut = "Left out: 1 of 3 event deliveries. These are order_placed events of Cancelled or Completed orders."

func TestBulkResendsLeaveOutFinalOrders(t *testing.T) {
	for _, path := range []string{"b/7/deliveries/resend/", "b/7/problems/31/resend/"} {
		for _, ticked := range []bool{false, true} {
			f := finalHub()
			base := serveConsole(t, f)
			client, at := adminClient(t, base), base+shell.Root+path
			_, page := getPage(t, client, at)
			require.Contains(t, page, ">Resend 2 event deliveries<", path)
			require.Contains(t, page, leftOut, path)
			form, choice := hiddenOf(page), webhook.WithoutFinalOrders
			after := map[string]any{"count": 2, "final_orders_left_out": 1}
			if ticked {
				form.Set("final_orders", "1")
				choice, after = webhook.WithFinalOrders, map[string]any{"count": 3, "final_orders_included": 1}
			}
			response, page := postForm(t, client, at, at, form)
			require.Equal(t, http.StatusOK, response.StatusCode, page)
			require.Len(t, f.done, 1)
			for name, value := range after {
				assert.Equal(t, value, f.done[0].After[name], path)
			}
			var body webhook.Selector
			require.NoError(t, json.Unmarshal(f.queued, &body))
			assert.Equal(t, choice, body.FinalOrders, path)
		}
	}
}

func TestResendOfFinalOrdersOnlyNeedsTheBox(t *testing.T) {
	f := finalHub()
	f.final = []core.ID{f.deliveries[0].ID, f.deliveries[1].ID, f.deliveries[2].ID}
	base := serveConsole(t, f)
	client, at := adminClient(t, base), base+shell.Root+"b/7/deliveries/resend/"
	_, page := getPage(t, client, at)
	require.Contains(t, page, ">Resend<")
	response, page := postForm(t, client, at, at, hiddenOf(page))
	require.Equal(t, http.StatusConflict, response.StatusCode)
	require.Contains(t, page, "Tick the box to resend them.")
	require.Empty(t, f.done)
}

func TestSelectedDeliveriesLeaveOutFinalOrders(t *testing.T) {
	for _, ticked := range []bool{false, true} {
		f := finalHub()
		base := serveConsole(t, f)
		client, list := adminClient(t, base), base+shell.Root+"b/7/deliveries/?state=failed"
		at := base + shell.Root + "b/7/deliveries/retry/"
		_, page := getPage(t, client, list)
		form := url.Values{"token": {tokenPattern.FindStringSubmatch(page)[1]}, "why": {"as agreed by phone"}}
		for _, d := range f.deliveries[:3] {
			form.Add("id", d.ID.String())
		}
		response, page := postForm(t, client, list, at, form)
		require.Equal(t, http.StatusOK, response.StatusCode, page)
		require.Empty(t, f.done, "it asks first")
		require.Contains(t, page, leftOut)
		require.Contains(t, page, `value="as agreed by phone"`)
		confirmed := hiddenOf(page)
		confirmed["id"] = form["id"]
		require.Equal(t, "/console/b/7/deliveries/?state=failed", confirmed.Get("list"))
		outdated := url.Values{"final": {"2"}}
		for name, values := range confirmed {
			if name != "final" {
				outdated[name] = slices.Clone(values)
			}
		}
		response, page = postForm(t, client, at, at, outdated)
		require.Equal(t, http.StatusConflict, response.StatusCode)
		require.Contains(t, page, "more orders are Cancelled or Completed now")

		after, flash, sent := map[string]any{"final_orders_left_out": 1}, "Resent, without the order_placed events", 2
		if ticked {
			confirmed.Set("final_orders", "1")
			after, flash, sent = map[string]any{"final_orders_included": 1}, "Resent. The result", 3
		}
		response, page = postForm(t, client, at, at, confirmed)
		require.Equal(t, http.StatusOK, response.StatusCode, page)
		require.Contains(t, page, flash)
		require.Equal(t, "failed", response.Request.URL.Query().Get("state"), "the filters are kept")
		require.Len(t, f.done, sent)
		require.Equal(t, after, f.done[0].After)
	}
}

func TestResultsOfResendsNameFinalOrders(t *testing.T) {
	f := finalHub()
	f.jobs[0].Kind, f.jobs[0].State, f.jobs[0].Error = core.BulkResendJob, "done", ""
	f.jobs[0].Result = []byte(`{"resent":18,"skipped":0,"left_out":2}`)
	f.audit = []console.Entry{{Business: 7, ID: idAt(1), At: noon, Actor: "user:sam@example.com",
		Action: "problem.resend", Object: console.ProblemObject(31),
		Detail: []byte(`{"after":{"count":18,"final_orders_left_out":2}}`)}}
	base := serveConsole(t, f)
	client := adminClient(t, base)
	const words = "Left out, because their orders are Cancelled or Completed: 2"
	_, page := getPage(t, client, base+shell.Root+"b/7/jobs/"+f.jobs[0].Reference.String()+"/")
	require.Contains(t, page, words)
	_, page = getPage(t, client, base+shell.Root+"b/7/problems/31/")
	require.Contains(t, page, words)
}
