package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/checklist"
)

const checklistPath = "/external/api/v1/checklist/"

// step returns a step of the checklist by name, or with "" the first one that is not done, or nil.
func (w *scenarioHub) step(name string) map[string]any {
	w.t.Helper()
	for _, one := range w.callHub("GET", checklistPath, nil)["steps"].([]any) {
		if step := one.(map[string]any); step["name"] == name || name == "" && step["done"] == false {
			return step
		}
	}
	return nil
}

func (w *scenarioHub) awaitStep(name string, done bool) map[string]any {
	w.t.Helper()
	eventually(w.t, waitTimeout, func() error {
		if step := w.step(name); step["done"] != done {
			return fmt.Errorf("%v", step)
		}
		return nil
	})
	return w.step(name)
}

// TestChecklistCommandsCompleteEveryStep completes every step with the command in the checklist.
func TestChecklistCommandsCompleteEveryStep(t *testing.T) {
	needsPrograms(t, "curl")
	w := newScenarioHub(t)
	placeholders := []string{checklist.ChannelKey,
		strings.TrimPrefix(newKey(t, w.env, w.client.business, "channel").authorization, "apikey "),
		checklist.Key, strings.TrimPrefix(w.client.authorization, "apikey "), checklist.Hook, w.events.URL}
	var taken []string
	for step := w.step(""); step != nil; step = w.step("") {
		name := step["name"].(string)
		if name == "action_used" {
			w.runScenario("order", "aggregator-a")
			step = w.step(name)
		}
		out, err := exec.CommandContext(t.Context(), "sh", "-euc",
			strings.NewReplacer(placeholders...).Replace(step["command"].(string))).CombinedOutput()
		require.NoError(t, err, "%s: %s", step["command"], out)
		require.Contains(t, string(out), `"status":"success"`, name)
		w.awaitStep(name, true)
		if name == "webhook_configured" {
			var created struct {
				ID json.Number `json:"webhook_id"`
			}
			require.NoError(t, json.Unmarshal(out, &created))
			placeholders = append(placeholders, "WEBHOOK_ID", created.ID.String())
		}
		taken = append(taken, name)
	}
	require.Equal(t, []string{"stores_synced", "menu_synced", "webhook_configured", "webhook_verified",
		"order_accepted", "orders_retried", "rider_sent", "action_used"}, taken)

	wrong := w.callHub("POST", "/external/api/v1/inventory/locations/-1/",
		`{"items":[{"ref_id":"pie","price":3}]}`)
	step := w.awaitStep("menu_synced", false)
	require.Equal(t, wrong["reference"], step["reference"])
	require.Contains(t, step["command"], "/external/api/v1/jobs/")
	w.callHub("POST", "/external/api/v1/inventory/locations/-1/",
		`{"items":[{"ref_id":"pie","title":"Pie","price":3}]}`)
	require.NotContains(t, w.awaitStep("menu_synced", true), "reference")
	require.Zero(t, w.hub.Terminate(t))
}
