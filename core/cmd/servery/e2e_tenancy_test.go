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
}

func TestKeysOpenWhatTheyAreFor(t *testing.T) {
	env := onDatabase(hubtest.DatabaseURL(t))
	hub := startHub(t, env).url
	good := newIntegrator(t, env)
	require.Equal(t, http.StatusOK, call(t, "GET", hub+storesPath, good.authorization, nil).status)

	for name, authorization := range map[string]string{
		"none": "", "wrong key": "apikey till:svk_wrong", "wrong name": "apikey other" + good.authorization[len("apikey till"):],
		"wrong scheme": "Bearer" + good.authorization[len("apikey"):], "no key": "apikey till",
	} {
		refused := call(t, "GET", hub+storesPath, authorization, nil)
		require.Equal(t, http.StatusUnauthorized, refused.status, name)
		require.Equal(t, "apikey", refused.header.Get("WWW-Authenticate"), name)
		require.Equal(t, "error", refused.object(t)["status"], name)
		require.NotEmpty(t, refused.header.Get("X-Request-Id"), name)
	}

	channel := newKey(t, env, good.business, "channel")
	for _, request := range [][2]string{{"POST", storesPath}, {"GET", storesPath}, {"POST", webhooksPath}, {"GET", webhooksPath}} {
		require.Equal(t, http.StatusForbidden, call(t, request[0], hub+request[1], channel.authorization, nil).status, request)
	}

	second := newKey(t, env, good.business, "pos")
	e := servery(t, env, "key", "disable", "--business", strconv.FormatInt(good.business, 10), strconv.FormatInt(good.keyID, 10))
	require.Zero(t, e.status, e.stderr)
	require.Equal(t, http.StatusForbidden, call(t, "GET", hub+storesPath, good.authorization, nil).status)
	require.Equal(t, http.StatusOK, call(t, "GET", hub+storesPath, second.authorization, nil).status)
}
