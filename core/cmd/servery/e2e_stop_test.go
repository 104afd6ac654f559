package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/installtest"
)

func TestOrderFetchedDuringAStopIsStored(t *testing.T) {
	asked, resume := make(chan struct{}, 1), make(chan struct{})
	aggregator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		<-resume
		fmt.Fprint(w, `{"id":"L-1","store":"s1","item":"dal","name":"Wilhelmina"}`)
	}))
	t.Cleanup(aggregator.Close)
	dir := t.TempDir()
	installtest.Plugin(t, dir, "linked", "../../internal/hub/testdata/linked")
	database := hubtest.HubDatabaseURL(t)
	env := onDatabase(database).With("SERVERY_PLUGIN_DIR", dir)
	hub := startHub(t, env)
	who := newAPIClient(t, env)
	prepareRiders(t, env, hub, who, 0)
	set := servery(t, env, "platform", "set", fmt.Sprint("--business=", who.business), "linked",
		"--endpoint=api="+aggregator.URL, "--secret=webhook_key=the-webhook-key", "--secret=api_key=the-api-key")
	require.Zero(t, set.status, set.stderr)

	event, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		fmt.Sprintf("%s/channel/api/v1/linked/callback/events/?business=%d", hub.URL, who.business),
		strings.NewReader(fmt.Sprintf(`{"type":"created","id":"L-1","link":"%s/orders/L-1"}`, aggregator.URL)))
	require.NoError(t, err)
	event.Header.Set("X-Key", "the-webhook-key")
	event.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(event)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusAccepted, response.StatusCode)
	<-asked

	stopped := make(chan int)
	go func() { stopped <- hub.Terminate(t) }()
	eventually(t, waitTimeout, func() error {
		response, err := http.Get(hub.URL + "/healthz")
		if err != nil {
			return nil
		}
		return errors.Join(errors.New("the hub still serves"), response.Body.Close())
	})
	close(resume)
	require.Zero(t, <-stopped)
	require.Equal(t, 1, openTestDatabase(t, database).number(t, `SELECT count(*) FROM orders`))
}
