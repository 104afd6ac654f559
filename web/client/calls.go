// Code generated from web/openapi.yaml by web/client/generate. DO NOT EDIT.

package client

import (
	"context"
	"net/url"
	"strconv"
)

// ListDeliverableStores calls GET /channel/api/v1/deliverable/: List stores that deliver to a zip code.
// A status other than 200 returns an *APIError.
func (c *Client) ListDeliverableStores(ctx context.Context, query ListDeliverableStoresQuery) (answer DeliverableStores, err error) {
	values := url.Values{}
	put(values, "zip_code", query.ZipCode)
	put(values, "platform", query.Platform)
	put(values, "limit", query.Limit)
	put(values, "after", query.After)
	err = c.do(ctx, call{"GET", "/channel/api/v1/deliverable/", values, nil}, &answer)
	return answer, err
}

// PostOrder calls POST /channel/api/v1/orders/: Create an order.
// A status other than 200 returns an *APIError.
func (c *Client) PostOrder(ctx context.Context, body OrderRequest) (answer OrderAnswer, err error) {
	err = c.do(ctx, call{"POST", "/channel/api/v1/orders/", nil, body}, &answer)
	return answer, err
}

// GetChannelOrder calls GET /channel/api/v1/orders/{id}/: Retrieve an order as a channel.
// A status other than 200 returns an *APIError.
func (c *Client) GetChannelOrder(ctx context.Context, id int64) (answer OrderReading, err error) {
	err = c.do(ctx, call{"GET", "/channel/api/v1/orders/" + strconv.FormatInt(id, 10) + "/", nil, nil}, &answer)
	return answer, err
}

// PutChannelOrderStatus calls PUT /channel/api/v1/orders/{id}/status/: Complete or cancel an order.
// A status other than 200 returns an *APIError.
func (c *Client) PutChannelOrderStatus(ctx context.Context, id int64, body OrderChange) (answer OrderAnswer, err error) {
	err = c.do(ctx, call{"PUT", "/channel/api/v1/orders/" + strconv.FormatInt(id, 10) + "/status/", nil, body}, &answer)
	return answer, err
}

// ListChannelStores calls GET /channel/api/v1/stores/: List stores as a channel.
// A status other than 200 returns an *APIError.
func (c *Client) ListChannelStores(ctx context.Context, query ListChannelStoresQuery) (answer ChannelStorePage, err error) {
	values := url.Values{}
	put(values, "platform", query.Platform)
	put(values, "limit", query.Limit)
	put(values, "after", query.After)
	err = c.do(ctx, call{"GET", "/channel/api/v1/stores/", values, nil}, &answer)
	return answer, err
}

// GetDeliverable calls GET /channel/api/v1/stores/{ref_id}/deliverable/: Check delivery to a zip code.
// A status other than 200 returns an *APIError.
func (c *Client) GetDeliverable(ctx context.Context, refID string, query GetDeliverableQuery) (answer Deliverable, err error) {
	values := url.Values{}
	put(values, "zip_code", query.ZipCode)
	put(values, "platform", query.Platform)
	err = c.do(ctx, call{"GET", "/channel/api/v1/stores/" + url.PathEscape(refID) + "/deliverable/", values, nil}, &answer)
	return answer, err
}

// GetEffectiveMenu calls GET /channel/api/v1/stores/{ref_id}/menu/: Retrieve the menu of a platform.
// A status other than 200 returns an *APIError.
func (c *Client) GetEffectiveMenu(ctx context.Context, refID string, query GetEffectiveMenuQuery) (answer EffectiveMenu, err error) {
	values := url.Values{}
	put(values, "platform", query.Platform)
	err = c.do(ctx, call{"GET", "/channel/api/v1/stores/" + url.PathEscape(refID) + "/menu/", values, nil}, &answer)
	return answer, err
}

// PostRiderLocation calls POST /ext/api/v1/generic/pos/rider-location/: Report a rider's location.
// A status other than 200 returns an *APIError.
func (c *Client) PostRiderLocation(ctx context.Context, body RiderLocation) (answer Enqueued, err error) {
	err = c.do(ctx, call{"POST", "/ext/api/v1/generic/pos/rider-location/", nil, body}, &answer)
	return answer, err
}

// PostRiderStatus calls POST /ext/api/v1/generic/pos/rider-status/: Report a rider's status.
// A status other than 200 returns an *APIError.
func (c *Client) PostRiderStatus(ctx context.Context, body RiderStatus) (answer Enqueued, err error) {
	err = c.do(ctx, call{"POST", "/ext/api/v1/generic/pos/rider-status/", nil, body}, &answer)
	return answer, err
}

// GetAction calls GET /external/api/v1/actions/{reference}/: Retrieve a feature action.
// A status other than 200 returns an *APIError.
func (c *Client) GetAction(ctx context.Context, reference string) (answer FeatureActionReading, err error) {
	err = c.do(ctx, call{"GET", "/external/api/v1/actions/" + url.PathEscape(reference) + "/", nil, nil}, &answer)
	return answer, err
}

// PostFeatureAction calls POST /external/api/v1/aggregator/{platform}/feature-action/: Request a feature action from an aggregator.
// A status other than 200 returns an *APIError.
func (c *Client) PostFeatureAction(ctx context.Context, platform string, body FeatureActionRequest) (answer Accepted, err error) {
	err = c.do(ctx, call{"POST", "/external/api/v1/aggregator/" + url.PathEscape(platform) + "/feature-action/", nil, body}, &answer)
	return answer, err
}

// GetChecklist calls GET /external/api/v1/checklist/: Retrieve the integration checklist.
// A status other than 200 returns an *APIError.
func (c *Client) GetChecklist(ctx context.Context) (answer Checklist, err error) {
	err = c.do(ctx, call{"GET", "/external/api/v1/checklist/", nil, nil}, &answer)
	return answer, err
}

// ListDeliveries calls GET /external/api/v1/deliveries/: List deliveries.
// A status other than 200 returns an *APIError.
func (c *Client) ListDeliveries(ctx context.Context, query ListDeliveriesQuery) (answer DeliveryPage, err error) {
	values := url.Values{}
	put(values, "state", query.State)
	put(values, "event_type", query.EventType)
	put(values, "webhook_id", query.WebhookID)
	put(values, "reference", query.Reference)
	put(values, "order_id", query.OrderID)
	put(values, "from", query.From)
	put(values, "to", query.To)
	put(values, "limit", query.Limit)
	put(values, "after", query.After)
	err = c.do(ctx, call{"GET", "/external/api/v1/deliveries/", values, nil}, &answer)
	return answer, err
}

// RetryDeliveries calls POST /external/api/v1/deliveries/retry/: Resend deliveries in bulk.
// A status other than 200 returns an *APIError.
func (c *Client) RetryDeliveries(ctx context.Context, query RetryDeliveriesQuery, body RetryDeliveriesBody) (answer RetryDeliveriesAnswer, err error) {
	values := url.Values{}
	put(values, "dry_run", query.DryRun)
	putWait(ctx, values)
	err = c.do(ctx, call{"POST", "/external/api/v1/deliveries/retry/", values, body}, &answer)
	return answer, err
}

// GetDelivery calls GET /external/api/v1/deliveries/{id}/: Retrieve a delivery.
// A status other than 200 returns an *APIError.
func (c *Client) GetDelivery(ctx context.Context, id string) (answer DeliveryWithAttempts, err error) {
	err = c.do(ctx, call{"GET", "/external/api/v1/deliveries/" + url.PathEscape(id) + "/", nil, nil}, &answer)
	return answer, err
}

// RetryDelivery calls POST /external/api/v1/deliveries/{id}/retry/: Resend a delivery.
// A status other than 200 returns an *APIError.
func (c *Client) RetryDelivery(ctx context.Context, id string) (answer RetryDeliveryAnswer, err error) {
	err = c.do(ctx, call{"POST", "/external/api/v1/deliveries/" + url.PathEscape(id) + "/retry/", nil, nil}, &answer)
	return answer, err
}

// ListEventTypes calls GET /external/api/v1/events/catalogue/: List event types.
// A status other than 200 returns an *APIError.
func (c *Client) ListEventTypes(ctx context.Context) (answer ListEventTypesAnswer, err error) {
	err = c.do(ctx, call{"GET", "/external/api/v1/events/catalogue/", nil, nil}, &answer)
	return answer, err
}

// GetEventType calls GET /external/api/v1/events/catalogue/{event_type}/: Retrieve an event type.
// A status other than 200 returns an *APIError.
func (c *Client) GetEventType(ctx context.Context, eventType string) (answer EventTypeEntry, err error) {
	err = c.do(ctx, call{"GET", "/external/api/v1/events/catalogue/" + url.PathEscape(eventType) + "/", nil, nil}, &answer)
	return answer, err
}

// ListTimingGroups calls GET /external/api/v1/inventory/categories/timing-groups/: List category timings.
// A status other than 200 returns an *APIError.
func (c *Client) ListTimingGroups(ctx context.Context) (answer ListTimingGroupsAnswer, err error) {
	err = c.do(ctx, call{"GET", "/external/api/v1/inventory/categories/timing-groups/", nil, nil}, &answer)
	return answer, err
}

// PostTimingGroups calls POST /external/api/v1/inventory/categories/timing-groups/: Set category timings.
// A status other than 200 returns an *APIError.
func (c *Client) PostTimingGroups(ctx context.Context, body PostTimingGroupsBody) (answer TwiceReferenced, err error) {
	values := url.Values{}
	putWait(ctx, values)
	err = c.do(ctx, call{"POST", "/external/api/v1/inventory/categories/timing-groups/", values, body}, &answer)
	return answer, err
}

// GetMenu calls GET /external/api/v1/inventory/locations/{location_ref_id}/: Retrieve a menu.
// A status other than 200 returns an *APIError.
func (c *Client) GetMenu(ctx context.Context, locationRefID string, query GetMenuQuery) (answer MenuReading, err error) {
	values := url.Values{}
	put(values, "only", query.Only)
	put(values, "limit", query.Limit)
	put(values, "after", query.After)
	err = c.do(ctx, call{"GET", "/external/api/v1/inventory/locations/" + url.PathEscape(locationRefID) + "/", values, nil}, &answer)
	return answer, err
}

// PostMenu calls POST /external/api/v1/inventory/locations/{location_ref_id}/: Create or update a menu.
// A status other than 200 returns an *APIError.
func (c *Client) PostMenu(ctx context.Context, locationRefID string, query PostMenuQuery, body MenuRequest) (answer Accepted, err error) {
	values := url.Values{}
	put(values, "dry_run", query.DryRun)
	putWait(ctx, values)
	err = c.do(ctx, call{"POST", "/external/api/v1/inventory/locations/" + url.PathEscape(locationRefID) + "/", values, body}, &answer)
	return answer, err
}

// GetItemThen calls GET /external/api/v1/inventory/locations/{location_ref_id}/items/{item_ref_id}/at/: Retrieve an item at a point in time.
// A status other than 200 returns an *APIError.
func (c *Client) GetItemThen(ctx context.Context, locationRefID string, itemRefID string, query GetItemThenQuery) (answer ItemThen, err error) {
	values := url.Values{}
	put(values, "platform", query.Platform)
	put(values, "time", query.Time)
	err = c.do(ctx, call{"GET", "/external/api/v1/inventory/locations/" + url.PathEscape(locationRefID) + "/items/" + url.PathEscape(itemRefID) + "/at/", values, nil}, &answer)
	return answer, err
}

// GetJob calls GET /external/api/v1/jobs/{reference}/: Retrieve a job.
// A status other than 200 returns an *APIError.
func (c *Client) GetJob(ctx context.Context, reference string) (answer Job, err error) {
	err = c.do(ctx, call{"GET", "/external/api/v1/jobs/" + url.PathEscape(reference) + "/", nil, nil}, &answer)
	return answer, err
}

// ListOrders calls GET /external/api/v1/orders/: List orders.
// A status other than 200 returns an *APIError.
func (c *Client) ListOrders(ctx context.Context, query ListOrdersQuery) (answer OrderPage, err error) {
	values := url.Values{}
	put(values, "state", query.State)
	put(values, "platform", query.Platform)
	put(values, "store_ref_id", query.StoreRefID)
	put(values, "order_ref_id", query.OrderRefID)
	put(values, "escalated", query.Escalated)
	put(values, "from", query.From)
	put(values, "to", query.To)
	put(values, "limit", query.Limit)
	put(values, "after", query.After)
	err = c.do(ctx, call{"GET", "/external/api/v1/orders/", values, nil}, &answer)
	return answer, err
}

// GetOrder calls GET /external/api/v1/orders/{id}/: Retrieve an order.
// A status other than 200 returns an *APIError.
func (c *Client) GetOrder(ctx context.Context, id int64) (answer OrderReading, err error) {
	err = c.do(ctx, call{"GET", "/external/api/v1/orders/" + strconv.FormatInt(id, 10) + "/", nil, nil}, &answer)
	return answer, err
}

// PutOrder calls PUT /external/api/v1/orders/{id}/: Set your reference of an order.
// A status other than 200 returns an *APIError.
func (c *Client) PutOrder(ctx context.Context, id int64, body PutOrderBody) (answer OrderAnswer, err error) {
	err = c.do(ctx, call{"PUT", "/external/api/v1/orders/" + strconv.FormatInt(id, 10) + "/", nil, body}, &answer)
	return answer, err
}

// PutOrderStatus calls PUT /external/api/v1/orders/{id}/status/: Change the state of an order.
// A status other than 200 returns an *APIError.
func (c *Client) PutOrderStatus(ctx context.Context, id int64, body OrderChange) (answer OrderAnswer, err error) {
	err = c.do(ctx, call{"PUT", "/external/api/v1/orders/" + strconv.FormatInt(id, 10) + "/status/", nil, body}, &answer)
	return answer, err
}

// ListPublications calls GET /external/api/v1/publications/: List publications.
// A status other than 200 returns an *APIError.
func (c *Client) ListPublications(ctx context.Context, query ListPublicationsQuery) (answer PublicationPage, err error) {
	values := url.Values{}
	put(values, "location_ref_id", query.LocationRefID)
	put(values, "platform", query.Platform)
	put(values, "status", query.Status)
	put(values, "limit", query.Limit)
	put(values, "after", query.After)
	err = c.do(ctx, call{"GET", "/external/api/v1/publications/", values, nil}, &answer)
	return answer, err
}

// ListRevisions calls GET /external/api/v1/revisions/: List revisions.
// A status other than 200 returns an *APIError.
func (c *Client) ListRevisions(ctx context.Context, query ListRevisionsQuery) (answer ListRevisionsAnswer, err error) {
	values := url.Values{}
	put(values, "entity", query.Entity)
	put(values, "ref_id", query.RefID)
	put(values, "location_ref_id", query.LocationRefID)
	put(values, "from", query.From)
	put(values, "to", query.To)
	put(values, "limit", query.Limit)
	put(values, "after", query.After)
	err = c.do(ctx, call{"GET", "/external/api/v1/revisions/", values, nil}, &answer)
	return answer, err
}

// GetRevision calls GET /external/api/v1/revisions/{id}/: Retrieve a revision.
// A status other than 200 returns an *APIError.
func (c *Client) GetRevision(ctx context.Context, id string, query GetRevisionQuery) (answer GetRevisionAnswer, err error) {
	values := url.Values{}
	put(values, "limit", query.Limit)
	put(values, "offset", query.Offset)
	err = c.do(ctx, call{"GET", "/external/api/v1/revisions/" + url.PathEscape(id) + "/", values, nil}, &answer)
	return answer, err
}

// PostRollback calls POST /external/api/v1/revisions/{id}/rollback/: Roll back to a revision.
// A status other than 200 returns an *APIError.
func (c *Client) PostRollback(ctx context.Context, id string) (answer Accepted, err error) {
	values := url.Values{}
	putWait(ctx, values)
	err = c.do(ctx, call{"POST", "/external/api/v1/revisions/" + url.PathEscape(id) + "/rollback/", values, nil}, &answer)
	return answer, err
}

// ListStores calls GET /external/api/v1/stores/: List stores.
// A status other than 200 returns an *APIError.
func (c *Client) ListStores(ctx context.Context, query ListStoresQuery) (answer StorePage, err error) {
	values := url.Values{}
	put(values, "limit", query.Limit)
	put(values, "after", query.After)
	err = c.do(ctx, call{"GET", "/external/api/v1/stores/", values, nil}, &answer)
	return answer, err
}

// PostStores calls POST /external/api/v1/stores/: Create or update stores in bulk.
// A status other than 200 returns an *APIError.
func (c *Client) PostStores(ctx context.Context, body StoresRequest) (answer Accepted, err error) {
	values := url.Values{}
	putWait(ctx, values)
	err = c.do(ctx, call{"POST", "/external/api/v1/stores/", values, body}, &answer)
	return answer, err
}

// GetStore calls GET /external/api/v1/stores/{ref_id}/: Retrieve a store.
// A status other than 200 returns an *APIError.
func (c *Client) GetStore(ctx context.Context, refID string) (answer StoredStore, err error) {
	err = c.do(ctx, call{"GET", "/external/api/v1/stores/" + url.PathEscape(refID) + "/", nil, nil}, &answer)
	return answer, err
}

// ListWebhooks calls GET /external/api/v1/webhooks/: List webhooks.
// A status other than 200 returns an *APIError.
func (c *Client) ListWebhooks(ctx context.Context, query ListWebhooksQuery) (answer WebhookPage, err error) {
	values := url.Values{}
	put(values, "limit", query.Limit)
	put(values, "offset", query.Offset)
	err = c.do(ctx, call{"GET", "/external/api/v1/webhooks/", values, nil}, &answer)
	return answer, err
}

// PostWebhook calls POST /external/api/v1/webhooks/: Create a webhook.
// A status other than 200 returns an *APIError.
func (c *Client) PostWebhook(ctx context.Context, body WebhookRequest) (answer WebhookCreated, err error) {
	err = c.do(ctx, call{"POST", "/external/api/v1/webhooks/", nil, body}, &answer)
	return answer, err
}

// PostWebhooks calls POST /external/api/v1/webhooks/bulk/: Create webhooks in bulk.
// A status other than 200 returns an *APIError.
func (c *Client) PostWebhooks(ctx context.Context, body PostWebhooksBody) (answer WebhooksCreated, err error) {
	err = c.do(ctx, call{"POST", "/external/api/v1/webhooks/bulk/", nil, body}, &answer)
	return answer, err
}

// PostOrderRetry calls POST /external/api/v1/webhooks/retry/: Resend orders that were not accepted.
// A status other than 200 returns an *APIError.
func (c *Client) PostOrderRetry(ctx context.Context, body PostOrderRetryBody) (answer TwiceReferenced, err error) {
	values := url.Values{}
	putWait(ctx, values)
	err = c.do(ctx, call{"POST", "/external/api/v1/webhooks/retry/", values, body}, &answer)
	return answer, err
}

// GetWebhook calls GET /external/api/v1/webhooks/{webhook_id}/: Retrieve a webhook.
// A status other than 200 returns an *APIError.
func (c *Client) GetWebhook(ctx context.Context, webhookID int64) (answer Webhook, err error) {
	err = c.do(ctx, call{"GET", "/external/api/v1/webhooks/" + strconv.FormatInt(webhookID, 10) + "/", nil, nil}, &answer)
	return answer, err
}

// PutWebhook calls PUT /external/api/v1/webhooks/{webhook_id}/: Update a webhook.
// A status other than 200 returns an *APIError.
func (c *Client) PutWebhook(ctx context.Context, webhookID int64, body WebhookChange) (answer WebhookChanged, err error) {
	err = c.do(ctx, call{"PUT", "/external/api/v1/webhooks/" + strconv.FormatInt(webhookID, 10) + "/", nil, body}, &answer)
	return answer, err
}

// RotateWebhook calls POST /external/api/v1/webhooks/{webhook_id}/rotate/: Rotate the signing secret of a webhook.
// A status other than 200 returns an *APIError.
func (c *Client) RotateWebhook(ctx context.Context, webhookID int64) (answer RotateWebhookAnswer, err error) {
	err = c.do(ctx, call{"POST", "/external/api/v1/webhooks/" + strconv.FormatInt(webhookID, 10) + "/rotate/", nil, nil}, &answer)
	return answer, err
}

// TestWebhook calls POST /external/api/v1/webhooks/{webhook_id}/test/: Send a test event.
// A status other than 200 returns an *APIError.
func (c *Client) TestWebhook(ctx context.Context, webhookID int64) (answer TestWebhookAnswer, err error) {
	err = c.do(ctx, call{"POST", "/external/api/v1/webhooks/" + strconv.FormatInt(webhookID, 10) + "/test/", nil, nil}, &answer)
	return answer, err
}

// PostItems calls POST /hub/api/v1/items/: Enable or disable items and options of a store.
// A status other than 200 returns an *APIError.
func (c *Client) PostItems(ctx context.Context, body ItemAction) (answer TwiceReferenced, err error) {
	err = c.do(ctx, call{"POST", "/hub/api/v1/items/", nil, body}, &answer)
	return answer, err
}

// PostLocation calls POST /hub/api/v1/location/: Open or close a store on platforms, say that it is busy, or publish its menu.
// A status other than 200 returns an *APIError.
func (c *Client) PostLocation(ctx context.Context, body LocationAction) (answer TwiceReferenced, err error) {
	err = c.do(ctx, call{"POST", "/hub/api/v1/location/", nil, body}, &answer)
	return answer, err
}

// PostItemsOOS calls POST /hub/api/v1/orders/items-oos/: Report items of an order out of stock.
// A status other than 200 returns an *APIError.
func (c *Client) PostItemsOOS(ctx context.Context, body ItemsOutOfStock) (answer TwiceReferenced, err error) {
	err = c.do(ctx, call{"POST", "/hub/api/v1/orders/items-oos/", nil, body}, &answer)
	return answer, err
}

// PutItemsOOS calls PUT /hub/api/v1/orders/items-oos/: Report items of an order out of stock.
// A status other than 200 returns an *APIError.
func (c *Client) PutItemsOOS(ctx context.Context, body ItemsOutOfStock) (answer TwiceReferenced, err error) {
	err = c.do(ctx, call{"PUT", "/hub/api/v1/orders/items-oos/", nil, body}, &answer)
	return answer, err
}

// GetSwitch calls GET /hub/api/v1/switches/{reference}/: Retrieve the outcome of a switch.
// A status other than 200 returns an *APIError.
func (c *Client) GetSwitch(ctx context.Context, reference string) (answer Switch, err error) {
	err = c.do(ctx, call{"GET", "/hub/api/v1/switches/" + url.PathEscape(reference) + "/", nil, nil}, &answer)
	return answer, err
}
