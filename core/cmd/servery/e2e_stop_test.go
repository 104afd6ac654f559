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
)

func TestOrderFetchedDuringAStopIsStored(t *testing.T) {
	asked, resume := make(chan struct{}, 1), make(chan struct{})
	aggregator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-resume:
			fmt.Fprint(w, `{"id":"L-1","store":"s1","item":"dal","name":"Wilhelmina"}`)
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(aggregator.Close)
	hub, env, who := startPluginHub(t, "linked", "--endpoint=api="+aggregator.URL,
		"--secret=webhook_key=the-webhook-key", "--secret=api_key=the-api-key")
	client := &http.Client{Timeout: waitTimeout}
	event, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		fmt.Sprintf("%s/channel/api/v1/p/callback/events/?business=%d", hub.URL, who.business),
		strings.NewReader(fmt.Sprintf(`{"type":"created","id":"L-1","link":"%s/orders/L-1"}`, aggregator.URL)))
	require.NoError(t, err)
	event.Header.Set("X-Key", "the-webhook-key")
	event.Header.Set("Content-Type", "application/json")
	response, err := client.Do(event)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusAccepted, response.StatusCode)
	<-asked

	go func() { // responds when the hub serves no more
		defer close(resume)
		_ = hubtest.Await(waitTimeout, func() error {
			response, err := client.Get(hub.URL + "/healthz")
			if err != nil {
				return nil
			}
			return errors.Join(errors.New("the hub still serves"), response.Body.Close())
		})
	}()
	require.Zero(t, hub.Terminate(t))
	require.Equal(t, 1, openTestDatabase(t, env["SERVERY_DATABASE_URL"]).number(t, `SELECT count(*) FROM orders`))
}
