package deliveries

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/webhook"
)

func TestCurlCommandIsQuotedForTheShell(t *testing.T) {
	d := webhook.DeliveryRecord{URL: "https://x/it's$(rm)"}
	attempts := []webhook.AttemptRecord{{N: 1,
		Attempt: webhook.Attempt{RequestHeaders: map[string]string{"X-Token": "•••", "Content-Length": "3",
			"B": "`id`"}}}}
	require.Equal(t, strings.Join([]string{`curl -sS -X POST 'https://x/it'\''s$(rm)'`, "-H 'B: `id`'",
		`-H 'X-Token: •••'`, `--data-binary '{"a":"b'\''c"}'`}, " \\\n  "),
		curl(d, attempts, []byte(`{"a":"b'c"}`)))
}

func TestAttemptSentTwiceSaysSo(t *testing.T) {
	list := attemptViews(&shell.PageContext{}, "", []webhook.AttemptRecord{{N: 1},
		{N: 2, Attempt: webhook.Attempt{SentTwice: true}}})
	require.Equal(t, []ui.Option{{Label: text.SentTwice, Value: text.SentTwiceWhy}}, list[0].phases)
	require.Empty(t, list[1].phases)
}

// The page is updated by these keys. Only the newest attempts are read, and two replicas can make the same attempt.
func TestAttemptKeepsItsKeyAfterFurtherAttempts(t *testing.T) {
	keys := func(numbers ...int) (list []string) {
		var attempts []webhook.AttemptRecord
		for _, n := range numbers {
			attempts = append(attempts, webhook.AttemptRecord{N: n})
		}
		for _, view := range attemptViews(&shell.PageContext{}, "", attempts) {
			list = append(list, view.key)
		}
		return list
	}
	require.Equal(t, []string{"attempt-4", "attempt-3-repeat-2", "attempt-3-repeat-1", "attempt-3", "attempt-2"},
		keys(2, 3, 3, 3, 4))
	require.Equal(t, []string{"attempt-5", "attempt-4", "attempt-3-repeat-2", "attempt-3-repeat-1", "attempt-3"},
		keys(3, 3, 3, 4, 5))
}

func TestCurlCommandReadsALongPayloadFromFile(t *testing.T) {
	require.Contains(t, curl(webhook.DeliveryRecord{}, nil, make([]byte, maxCurlPayload+1)),
		"--data-binary @00000000-0000-0000-0000-000000000000.json")
}

func TestResendFormExpiresAfterAResendOnly(t *testing.T) {
	version := func(state webhook.State, attempts int) string {
		return formVersion(webhook.DeliveryRecord{State: state, Attempts: attempts})
	}
	require.Equal(t, version(webhook.Pending, 1), version(webhook.Pending, 2))
	require.Equal(t, version(webhook.Pending, 1), version(webhook.Held, 1))
	require.NotEqual(t, version(webhook.Failed, 6), version(webhook.Pending, 6))
	require.NotEqual(t, version(webhook.Pending, 1), version(webhook.Delivered, 2))
	require.NotEqual(t, version(webhook.Delivered, 1), version(webhook.Delivered, 2))
}

func TestRowsAreSelectableIfOneCanBeResent(t *testing.T) {
	v := &shell.PageContext{Zone: time.UTC}
	paused, failed := webhook.DeliveryRecord{WebhookOff: true}, webhook.DeliveryRecord{State: webhook.Failed}
	require.Nil(t, Table(v, []webhook.DeliveryRecord{paused}, true).Choose)
	require.NotNil(t, Table(v, []webhook.DeliveryRecord{paused, failed}, true).Choose)
	require.Nil(t, Table(v, []webhook.DeliveryRecord{failed}, false).Choose)
}
