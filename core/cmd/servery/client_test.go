package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/web/client"
)

func TestGoClientCallsTheAPI(t *testing.T) {
	ctx := context.Background()
	hub, env := useSharedHub(t)
	pos := newAPIClient(t, env)
	of := func(who apiClient) *client.Client {
		username, key, _ := strings.Cut(strings.TrimPrefix(who.authorization, "apikey "), ":")
		return client.New(hub.URL+"/", username, key, nil)
	}
	c, shop := of(pos), of(newKey(t, env, pos.business, "channel"))

	accepted, err := c.PostStores(client.WithWait(ctx, 15*time.Second), client.StoresRequest{Stores: []client.Store{
		{RefID: "S 1/a", Name: new("Harbour Street"), City: new("Oakland"), IncludedPlatforms: []string{"web"},
			MinOrderValue: new(json.Number("12.25"))},
	}})
	require.NoError(t, err)
	require.NotEmpty(t, accepted.Reference)
	require.Equal(t, "ended", *accepted.WaitOutcome)
	require.Equal(t, "done", *accepted.State)
	require.Contains(t, string(accepted.Result), `"created":1`)
	stored, err := c.GetStore(ctx, "S 1/a")
	require.NoError(t, err)
	require.Equal(t, "Harbour Street", stored.Name)
	require.Equal(t, json.Number("12.25"), *stored.MinOrderValue, "every digit is kept")
	page, err := c.ListStores(ctx, client.ListStoresQuery{Limit: 1})
	require.NoError(t, err)
	require.Len(t, page.Stores, 1)

	placed, err := shop.PostOrder(ctx,
		client.OrderRequest{Platform: "web", PlatformOrderID: json.RawMessage(`"W-1"`), StoreRefID: "S 1/a",
			Items: []client.OrderRequestItems{{RefID: "dal", Title: new("Dal"), Price: new(json.Number("9.5")),
				Quantity: 2}}})
	require.NoError(t, err)
	_, err = c.PutOrderStatus(ctx, placed.OrderID, client.OrderChange{NewStatus: "Acknowledged"})
	require.NoError(t, err)
	order, err := c.GetOrder(ctx, placed.OrderID)
	require.NoError(t, err)
	require.Len(t, order.History, 2)

	_, err = c.PostStores(ctx,
		client.StoresRequest{Stores: []client.Store{{RefID: "S-2", GeoLatitude: new(json.Number("137"))}}})
	var refused *client.APIError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 400, refused.Status)
	require.Contains(t, refused.Message, "geo_latitude")
	require.Equal(t, "stores[0].geo_latitude", refused.Errors[0].Path)
	require.NotEmpty(t, refused.RequestID)
	_, err = c.GetJob(ctx, "01a1fd44-0000-7000-8000-000000000000")
	require.ErrorAs(t, err, &refused)
	require.Equal(t, 404, refused.Status)
}
