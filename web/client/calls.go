// Code generated from web/openapi.yaml by web/client/generate. DO NOT EDIT.

package client

import (
	"context"
	"net/url"
	"strconv"
)

// ListDeliverableStores: Stores that deliver to a zip code. It is GET /channel/api/v1/deliverable/; anything but 200 is a *Refusal.
func (c *Client) ListDeliverableStores(ctx context.Context, query ListDeliverableStoresQuery) (answer DeliverableStores, err error) {
	values := url.Values{}
	put(values, "zip_code", query.ZipCode)
	put(values, "platform", query.Platform)
	put(values, "limit", query.Limit)
	put(values, "after", query.After)
	err = c.do(ctx, "GET", "/channel/api/v1/deliverable/", values, nil, &answer)
	return answer, err
}

// PostOrder: Bring an order. It is POST /channel/api/v1/orders/; anything but 200 is a *Refusal.
func (c *Client) PostOrder(ctx context.Context, body OrderRequest) (answer OrderAnswer, err error) {
	err = c.do(ctx, "POST", "/channel/api/v1/orders/", nil, body, &answer)
	return answer, err
}

// GetChannelOrder: Follow an order. It is GET /channel/api/v1/orders/{id}/; anything but 200 is a *Refusal.
func (c *Client) GetChannelOrder(ctx context.Context, id int64) (answer OrderReading, err error) {
	err = c.do(ctx, "GET", "/channel/api/v1/orders/"+strconv.FormatInt(id, 10)+"/", nil, nil, &answer)
	return answer, err
}

// PutChannelOrderStatus: Complete or cancel an order. It is PUT /channel/api/v1/orders/{id}/status/; anything but 200 is a *Refusal.
func (c *Client) PutChannelOrderStatus(ctx context.Context, id int64, body OrderChange) (answer OrderAnswer, err error) {
	err = c.do(ctx, "PUT", "/channel/api/v1/orders/"+strconv.FormatInt(id, 10)+"/status/", nil, body, &answer)
	return answer, err
}

// ListChannelStores: Stores as a channel shows them. It is GET /channel/api/v1/stores/; anything but 200 is a *Refusal.
func (c *Client) ListChannelStores(ctx context.Context, query ListChannelStoresQuery) (answer ChannelStorePage, err error) {
	values := url.Values{}
	put(values, "platform", query.Platform)
	put(values, "limit", query.Limit)
	put(values, "after", query.After)
	err = c.do(ctx, "GET", "/channel/api/v1/stores/", values, nil, &answer)
	return answer, err
}

// GetDeliverable: Whether a store delivers to a zip code. It is GET /channel/api/v1/stores/{ref_id}/deliverable/; anything but 200 is a *Refusal.
func (c *Client) GetDeliverable(ctx context.Context, refID string, query GetDeliverableQuery) (answer Deliverable, err error) {
	values := url.Values{}
	put(values, "zip_code", query.ZipCode)
	put(values, "platform", query.Platform)
	err = c.do(ctx, "GET", "/channel/api/v1/stores/"+url.PathEscape(refID)+"/deliverable/", values, nil, &answer)
	return answer, err
}

// GetEffectiveMenu: What a customer sees. It is GET /channel/api/v1/stores/{ref_id}/menu/; anything but 200 is a *Refusal.
func (c *Client) GetEffectiveMenu(ctx context.Context, refID string, query GetEffectiveMenuQuery) (answer EffectiveMenu, err error) {
	values := url.Values{}
	put(values, "platform", query.Platform)
	err = c.do(ctx, "GET", "/channel/api/v1/stores/"+url.PathEscape(refID)+"/menu/", values, nil, &answer)
	return answer, err
}

// PostRiderLocation: Tell where a rider is. It is POST /ext/api/v1/generic/pos/rider-location/; anything but 200 is a *Refusal.
func (c *Client) PostRiderLocation(ctx context.Context, body RiderLocation) (answer Enqueued, err error) {
	err = c.do(ctx, "POST", "/ext/api/v1/generic/pos/rider-location/", nil, body, &answer)
	return answer, err
}

// PostRiderStatus: Tell how far a rider is. It is POST /ext/api/v1/generic/pos/rider-status/; anything but 200 is a *Refusal.
func (c *Client) PostRiderStatus(ctx context.Context, body RiderStatus) (answer Enqueued, err error) {
	err = c.do(ctx, "POST", "/ext/api/v1/generic/pos/rider-status/", nil, body, &answer)
	return answer, err
}

// GetAction: Read what became of an action. It is GET /external/api/v1/actions/{reference}/; anything but 200 is a *Refusal.
func (c *Client) GetAction(ctx context.Context, reference string) (answer FeatureActionReading, err error) {
	err = c.do(ctx, "GET", "/external/api/v1/actions/"+url.PathEscape(reference)+"/", nil, nil, &answer)
	return answer, err
}

// PostFeatureAction: Ask an aggregator for something. It is POST /external/api/v1/aggregator/{platform}/feature-action/; anything but 200 is a *Refusal.
func (c *Client) PostFeatureAction(ctx context.Context, platform string, body FeatureActionRequest) (answer Accepted, err error) {
	err = c.do(ctx, "POST", "/external/api/v1/aggregator/"+url.PathEscape(platform)+"/feature-action/", nil, body, &answer)
	return answer, err
}

// GetChecklist: See how far your integration is. It is GET /external/api/v1/checklist/; anything but 200 is a *Refusal.
func (c *Client) GetChecklist(ctx context.Context) (answer Checklist, err error) {
	err = c.do(ctx, "GET", "/external/api/v1/checklist/", nil, nil, &answer)
	return answer, err
}

// ListDeliveries: List deliveries. It is GET /external/api/v1/deliveries/; anything but 200 is a *Refusal.
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
	err = c.do(ctx, "GET", "/external/api/v1/deliveries/", values, nil, &answer)
	return answer, err
}

// RetryDeliveries: Send many deliveries again. It is POST /external/api/v1/deliveries/retry/; anything but 200 is a *Refusal.
func (c *Client) RetryDeliveries(ctx context.Context, query RetryDeliveriesQuery, body RetryDeliveriesBody) (answer RetryDeliveriesAnswer, err error) {
	values := url.Values{}
	put(values, "dry_run", query.DryRun)
	err = c.do(ctx, "POST", "/external/api/v1/deliveries/retry/", values, body, &answer)
	return answer, err
}

// GetDelivery: Read one delivery. It is GET /external/api/v1/deliveries/{id}/; anything but 200 is a *Refusal.
func (c *Client) GetDelivery(ctx context.Context, id string) (answer DeliveryWithAttempts, err error) {
	err = c.do(ctx, "GET", "/external/api/v1/deliveries/"+url.PathEscape(id)+"/", nil, nil, &answer)
	return answer, err
}

// RetryDelivery: Send a delivery again. It is POST /external/api/v1/deliveries/{id}/retry/; anything but 200 is a *Refusal.
func (c *Client) RetryDelivery(ctx context.Context, id string) (answer RetryDeliveryAnswer, err error) {
	err = c.do(ctx, "POST", "/external/api/v1/deliveries/"+url.PathEscape(id)+"/retry/", nil, nil, &answer)
	return answer, err
}

// ListEventTypes: List the event types. It is GET /external/api/v1/events/catalogue/; anything but 200 is a *Refusal.
func (c *Client) ListEventTypes(ctx context.Context) (answer ListEventTypesAnswer, err error) {
	err = c.do(ctx, "GET", "/external/api/v1/events/catalogue/", nil, nil, &answer)
	return answer, err
}

// GetEventType: Read one event type. It is GET /external/api/v1/events/catalogue/{event_type}/; anything but 200 is a *Refusal.
func (c *Client) GetEventType(ctx context.Context, eventType string) (answer EventTypeEntry, err error) {
	err = c.do(ctx, "GET", "/external/api/v1/events/catalogue/"+url.PathEscape(eventType)+"/", nil, nil, &answer)
	return answer, err
}

// ListTimingGroups: Read when categories are on sale. It is GET /external/api/v1/inventory/categories/timing-groups/; anything but 200 is a *Refusal.
func (c *Client) ListTimingGroups(ctx context.Context) (answer ListTimingGroupsAnswer, err error) {
	err = c.do(ctx, "GET", "/external/api/v1/inventory/categories/timing-groups/", nil, nil, &answer)
	return answer, err
}

// PostTimingGroups: Say when categories are on sale. It is POST /external/api/v1/inventory/categories/timing-groups/; anything but 200 is a *Refusal.
func (c *Client) PostTimingGroups(ctx context.Context, body PostTimingGroupsBody) (answer TwiceReferenced, err error) {
	err = c.do(ctx, "POST", "/external/api/v1/inventory/categories/timing-groups/", nil, body, &answer)
	return answer, err
}

// GetMenu: Read a menu back. It is GET /external/api/v1/inventory/locations/{location_ref_id}/; anything but 200 is a *Refusal.
func (c *Client) GetMenu(ctx context.Context, locationRefID string, query GetMenuQuery) (answer MenuReading, err error) {
	values := url.Values{}
	put(values, "only", query.Only)
	put(values, "limit", query.Limit)
	put(values, "after", query.After)
	err = c.do(ctx, "GET", "/external/api/v1/inventory/locations/"+url.PathEscape(locationRefID)+"/", values, nil, &answer)
	return answer, err
}

// PostMenu: Create or update a menu. It is POST /external/api/v1/inventory/locations/{location_ref_id}/; anything but 200 is a *Refusal.
func (c *Client) PostMenu(ctx context.Context, locationRefID string, query PostMenuQuery, body MenuRequest) (answer Accepted, err error) {
	values := url.Values{}
	put(values, "dry_run", query.DryRun)
	err = c.do(ctx, "POST", "/external/api/v1/inventory/locations/"+url.PathEscape(locationRefID)+"/", values, body, &answer)
	return answer, err
}

// GetItemThen: Tell what an item was like. It is GET /external/api/v1/inventory/locations/{location_ref_id}/items/{item_ref_id}/at/; anything but 200 is a *Refusal.
func (c *Client) GetItemThen(ctx context.Context, locationRefID string, itemRefID string, query GetItemThenQuery) (answer ItemThen, err error) {
	values := url.Values{}
	put(values, "platform", query.Platform)
	put(values, "time", query.Time)
	err = c.do(ctx, "GET", "/external/api/v1/inventory/locations/"+url.PathEscape(locationRefID)+"/items/"+url.PathEscape(itemRefID)+"/at/", values, nil, &answer)
	return answer, err
}

// GetJob: Follow a request. It is GET /external/api/v1/jobs/{reference}/; anything but 200 is a *Refusal.
func (c *Client) GetJob(ctx context.Context, reference string) (answer Job, err error) {
	err = c.do(ctx, "GET", "/external/api/v1/jobs/"+url.PathEscape(reference)+"/", nil, nil, &answer)
	return answer, err
}

// ListOrders: List orders. It is GET /external/api/v1/orders/; anything but 200 is a *Refusal.
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
	err = c.do(ctx, "GET", "/external/api/v1/orders/", values, nil, &answer)
	return answer, err
}

// GetOrder: Read one order. It is GET /external/api/v1/orders/{id}/; anything but 200 is a *Refusal.
func (c *Client) GetOrder(ctx context.Context, id int64) (answer OrderReading, err error) {
	err = c.do(ctx, "GET", "/external/api/v1/orders/"+strconv.FormatInt(id, 10)+"/", nil, nil, &answer)
	return answer, err
}

// PutOrder: Tell what you call an order. It is PUT /external/api/v1/orders/{id}/; anything but 200 is a *Refusal.
func (c *Client) PutOrder(ctx context.Context, id int64, body PutOrderBody) (answer OrderAnswer, err error) {
	err = c.do(ctx, "PUT", "/external/api/v1/orders/"+strconv.FormatInt(id, 10)+"/", nil, body, &answer)
	return answer, err
}

// PutOrderStatus: Move an order to another state. It is PUT /external/api/v1/orders/{id}/status/; anything but 200 is a *Refusal.
func (c *Client) PutOrderStatus(ctx context.Context, id int64, body OrderChange) (answer OrderAnswer, err error) {
	err = c.do(ctx, "PUT", "/external/api/v1/orders/"+strconv.FormatInt(id, 10)+"/status/", nil, body, &answer)
	return answer, err
}

// ListPublications: List what is published where. It is GET /external/api/v1/publications/; anything but 200 is a *Refusal.
func (c *Client) ListPublications(ctx context.Context, query ListPublicationsQuery) (answer PublicationPage, err error) {
	values := url.Values{}
	put(values, "location_ref_id", query.LocationRefID)
	put(values, "platform", query.Platform)
	put(values, "status", query.Status)
	put(values, "limit", query.Limit)
	put(values, "after", query.After)
	err = c.do(ctx, "GET", "/external/api/v1/publications/", values, nil, &answer)
	return answer, err
}

// ListRevisions: List what changed. It is GET /external/api/v1/revisions/; anything but 200 is a *Refusal.
func (c *Client) ListRevisions(ctx context.Context, query ListRevisionsQuery) (answer ListRevisionsAnswer, err error) {
	values := url.Values{}
	put(values, "entity", query.Entity)
	put(values, "ref_id", query.RefID)
	put(values, "location_ref_id", query.LocationRefID)
	put(values, "from", query.From)
	put(values, "to", query.To)
	put(values, "limit", query.Limit)
	put(values, "after", query.After)
	err = c.do(ctx, "GET", "/external/api/v1/revisions/", values, nil, &answer)
	return answer, err
}

// GetRevision: Read what a revision changed. It is GET /external/api/v1/revisions/{id}/; anything but 200 is a *Refusal.
func (c *Client) GetRevision(ctx context.Context, id string, query GetRevisionQuery) (answer GetRevisionAnswer, err error) {
	values := url.Values{}
	put(values, "limit", query.Limit)
	put(values, "offset", query.Offset)
	err = c.do(ctx, "GET", "/external/api/v1/revisions/"+url.PathEscape(id)+"/", values, nil, &answer)
	return answer, err
}

// PostRollback: Go back to a revision. It is POST /external/api/v1/revisions/{id}/rollback/; anything but 200 is a *Refusal.
func (c *Client) PostRollback(ctx context.Context, id string) (answer Accepted, err error) {
	err = c.do(ctx, "POST", "/external/api/v1/revisions/"+url.PathEscape(id)+"/rollback/", nil, nil, &answer)
	return answer, err
}

// ListStores: List stores. It is GET /external/api/v1/stores/; anything but 200 is a *Refusal.
func (c *Client) ListStores(ctx context.Context, query ListStoresQuery) (answer StorePage, err error) {
	values := url.Values{}
	put(values, "limit", query.Limit)
	put(values, "after", query.After)
	err = c.do(ctx, "GET", "/external/api/v1/stores/", values, nil, &answer)
	return answer, err
}

// PostStores: Create or update stores in bulk. It is POST /external/api/v1/stores/; anything but 200 is a *Refusal.
func (c *Client) PostStores(ctx context.Context, body StoresRequest) (answer Accepted, err error) {
	err = c.do(ctx, "POST", "/external/api/v1/stores/", nil, body, &answer)
	return answer, err
}

// GetStore: Read one store. It is GET /external/api/v1/stores/{ref_id}/; anything but 200 is a *Refusal.
func (c *Client) GetStore(ctx context.Context, refID string) (answer StoredStore, err error) {
	err = c.do(ctx, "GET", "/external/api/v1/stores/"+url.PathEscape(refID)+"/", nil, nil, &answer)
	return answer, err
}

// ListWebhooks: List webhooks. It is GET /external/api/v1/webhooks/; anything but 200 is a *Refusal.
func (c *Client) ListWebhooks(ctx context.Context, query ListWebhooksQuery) (answer WebhookPage, err error) {
	values := url.Values{}
	put(values, "limit", query.Limit)
	put(values, "offset", query.Offset)
	err = c.do(ctx, "GET", "/external/api/v1/webhooks/", values, nil, &answer)
	return answer, err
}

// PostWebhook: Create a webhook. It is POST /external/api/v1/webhooks/; anything but 200 is a *Refusal.
func (c *Client) PostWebhook(ctx context.Context, body WebhookRequest) (answer WebhookCreated, err error) {
	err = c.do(ctx, "POST", "/external/api/v1/webhooks/", nil, body, &answer)
	return answer, err
}

// PostOrderRetry: Send orders again that were not accepted. It is POST /external/api/v1/webhooks/retry/; anything but 200 is a *Refusal.
func (c *Client) PostOrderRetry(ctx context.Context, body PostOrderRetryBody) (answer TwiceReferenced, err error) {
	err = c.do(ctx, "POST", "/external/api/v1/webhooks/retry/", nil, body, &answer)
	return answer, err
}

// GetWebhook: Read one webhook. It is GET /external/api/v1/webhooks/{webhook_id}/; anything but 200 is a *Refusal.
func (c *Client) GetWebhook(ctx context.Context, webhookID int64) (answer Webhook, err error) {
	err = c.do(ctx, "GET", "/external/api/v1/webhooks/"+strconv.FormatInt(webhookID, 10)+"/", nil, nil, &answer)
	return answer, err
}

// PutWebhook: Change a webhook. It is PUT /external/api/v1/webhooks/{webhook_id}/; anything but 200 is a *Refusal.
func (c *Client) PutWebhook(ctx context.Context, webhookID int64, body WebhookChange) (answer WebhookChanged, err error) {
	err = c.do(ctx, "PUT", "/external/api/v1/webhooks/"+strconv.FormatInt(webhookID, 10)+"/", nil, body, &answer)
	return answer, err
}

// RotateWebhook: Give a webhook another signing secret. It is POST /external/api/v1/webhooks/{webhook_id}/rotate/; anything but 200 is a *Refusal.
func (c *Client) RotateWebhook(ctx context.Context, webhookID int64) (answer RotateWebhookAnswer, err error) {
	err = c.do(ctx, "POST", "/external/api/v1/webhooks/"+strconv.FormatInt(webhookID, 10)+"/rotate/", nil, nil, &answer)
	return answer, err
}

// TestWebhook: Send a test event. It is POST /external/api/v1/webhooks/{webhook_id}/test/; anything but 200 is a *Refusal.
func (c *Client) TestWebhook(ctx context.Context, webhookID int64) (answer TestWebhookAnswer, err error) {
	err = c.do(ctx, "POST", "/external/api/v1/webhooks/"+strconv.FormatInt(webhookID, 10)+"/test/", nil, nil, &answer)
	return answer, err
}

// PostItems: Switch items and options of a store on or off. It is POST /hub/api/v1/items/; anything but 200 is a *Refusal.
func (c *Client) PostItems(ctx context.Context, body ItemAction) (answer TwiceReferenced, err error) {
	err = c.do(ctx, "POST", "/hub/api/v1/items/", nil, body, &answer)
	return answer, err
}

// PostLocation: Open or close a store on platforms, or publish its menu. It is POST /hub/api/v1/location/; anything but 200 is a *Refusal.
func (c *Client) PostLocation(ctx context.Context, body LocationAction) (answer TwiceReferenced, err error) {
	err = c.do(ctx, "POST", "/hub/api/v1/location/", nil, body, &answer)
	return answer, err
}

// PostItemsOOS: Report items of an order out of stock. It is POST /hub/api/v1/orders/items-oos/; anything but 200 is a *Refusal.
func (c *Client) PostItemsOOS(ctx context.Context, body ItemsOutOfStock) (answer TwiceReferenced, err error) {
	err = c.do(ctx, "POST", "/hub/api/v1/orders/items-oos/", nil, body, &answer)
	return answer, err
}

// PutItemsOOS: Report items of an order out of stock. It is PUT /hub/api/v1/orders/items-oos/; anything but 200 is a *Refusal.
func (c *Client) PutItemsOOS(ctx context.Context, body ItemsOutOfStock) (answer TwiceReferenced, err error) {
	err = c.do(ctx, "PUT", "/hub/api/v1/orders/items-oos/", nil, body, &answer)
	return answer, err
}

// GetSwitch: Read what became of a switch. It is GET /hub/api/v1/switches/{reference}/; anything but 200 is a *Refusal.
func (c *Client) GetSwitch(ctx context.Context, reference string) (answer Switch, err error) {
	err = c.do(ctx, "GET", "/hub/api/v1/switches/"+url.PathEscape(reference)+"/", nil, nil, &answer)
	return answer, err
}
