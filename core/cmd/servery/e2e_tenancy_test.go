package main

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestBusinessesNeverSeeEachOther(t *testing.T) {
	running, env := useSharedHub(t)
	hub, sink := running.URL, newCallbackSink(t, 0)
	mine, other := newAPIClient(t, env), newAPIClient(t, env)
	require.NotEqual(t, mine.business, other.business)
	id, secret := subscribe(t, hub, mine, sink.url+"/mine")
	_, otherSecret := subscribe(t, hub, other, sink.url+"/other")
	webhook := webhooksPath + strconv.FormatInt(id, 10) + "/"
	j := journey{hub: hub, client: mine, sink: sink}
	sink.await(t, j.post(t, sampleStores), "/mine", secret)

	for _, pair := range []struct {
		method, foreign, unknown string
		body                     any
	}{
		{"GET", storesPath + "S-1/", storesPath + "S-9/", nil},
		{"GET", webhook, webhooksPath + "999999/", nil},
		{"PUT", webhook, webhooksPath + "999999/", `{"active": false}`},
	} {
		foreign := hubtest.Call(t, pair.method, hub+pair.foreign, other.authorization, pair.body)
		unknown := hubtest.Call(t, pair.method, hub+pair.unknown, other.authorization, pair.body)
		require.Equal(t, http.StatusNotFound, foreign.Status)
		require.Equal(t, http.StatusNotFound, unknown.Status)
		require.Equal(t, unknown.Object(t)["status"], foreign.Object(t)["status"])
		require.Len(t, foreign.Object(t), len(unknown.Object(t)))
		require.Equal(t, http.StatusOK, hubtest.Call(t, "GET", hub+pair.foreign, mine.authorization, nil).Status)
	}
	require.Empty(t, hubtest.Call(t, "GET", hub+storesPath, other.authorization, nil).Object(t)["stores"])
	require.Len(t, hubtest.Call(t, "GET", hub+webhooksPath, other.authorization, nil).Object(t)["webhooks"], 1)

	j.client = other
	requireAll(t, sink.await(t, j.post(t, sampleStores), "/other", otherSecret), "A", 2, 0)
	require.Equal(t, true, hubtest.Call(t, "GET", hub+webhook, mine.authorization, nil).Object(t)["active"])

	second, key := newKey(t, env, other.business, "pos"), strconv.FormatInt(other.keyID, 10)
	disable := func(of int64) commandResult {
		return servery(t, env, "key", "revoke", "--business", strconv.FormatInt(of, 10), key)
	}
	require.NotZero(t, disable(mine.business).status)
	require.Equal(t, http.StatusOK, hubtest.Call(t, "GET", hub+storesPath, other.authorization, nil).Status)
	require.Equal(t, commandResult{stdout: "key " + key + " is revoked\n"}, disable(other.business))
	require.Equal(t, http.StatusForbidden, hubtest.Call(t, "GET", hub+storesPath, other.authorization, nil).Status)
	require.Equal(t, http.StatusOK, hubtest.Call(t, "GET", hub+storesPath, second.authorization, nil).Status)
}
