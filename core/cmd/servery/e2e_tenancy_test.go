package main

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestBusinessesNeverSeeEachOther(t *testing.T) {
	env, sink := onDatabase(hubtest.DatabaseURL(t)), newCallbackSink(t, 0)
	hub := startHub(t, env).url
	mine, other := newIntegrator(t, env), newIntegrator(t, env)
	require.NotEqual(t, mine.business, other.business)
	id, secret := subscribe(t, hub, mine, sink.url+"/mine")
	_, otherSecret := subscribe(t, hub, other, sink.url+"/other")
	webhook := webhooksPath + strconv.FormatInt(id, 10) + "/"
	j := journey{hub: hub, who: mine, sink: sink}
	sink.await(t, j.post(t, sampleStores), "/mine", secret)

	for _, pair := range []struct {
		method, foreign, unknown string
		body                     any
	}{
		{"GET", storesPath + "S-1/", storesPath + "S-9/", nil},
		{"GET", webhook, webhooksPath + "999999/", nil},
		{"PUT", webhook, webhooksPath + "999999/", `{"active": false}`},
	} {
		foreign := call(t, pair.method, hub+pair.foreign, other.authorization, pair.body)
		unknown := call(t, pair.method, hub+pair.unknown, other.authorization, pair.body)
		require.Equal(t, http.StatusNotFound, foreign.status)
		require.Equal(t, http.StatusNotFound, unknown.status)
		require.Equal(t, unknown.object(t)["status"], foreign.object(t)["status"])
		require.Len(t, foreign.object(t), len(unknown.object(t)))
		require.Equal(t, http.StatusOK, call(t, "GET", hub+pair.foreign, mine.authorization, nil).status)
	}
	require.Empty(t, call(t, "GET", hub+storesPath, other.authorization, nil).object(t)["stores"])
	require.Len(t, call(t, "GET", hub+webhooksPath, other.authorization, nil).object(t)["webhooks"], 1)

	j.who = other
	requireAll(t, sink.await(t, j.post(t, sampleStores), "/other", otherSecret), "A", 2, 0)
	require.Equal(t, true, call(t, "GET", hub+webhook, mine.authorization, nil).object(t)["active"])

	second, key := newKey(t, env, other.business, "pos"), strconv.FormatInt(other.keyID, 10)
	disable := func(of int64) ended {
		return servery(t, env, "key", "disable", "--business", strconv.FormatInt(of, 10), key)
	}
	require.NotZero(t, disable(mine.business).status)
	require.Equal(t, http.StatusOK, call(t, "GET", hub+storesPath, other.authorization, nil).status)
	require.Equal(t, ended{stdout: "key " + key + " is disabled\n"}, disable(other.business))
	require.Equal(t, http.StatusForbidden, call(t, "GET", hub+storesPath, other.authorization, nil).status)
	require.Equal(t, http.StatusOK, call(t, "GET", hub+storesPath, second.authorization, nil).status)
}
