package receiver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/webhook"
	"github.com/servery-hub/servery/web/body"
)

// Mount serves the receiver below Path.
func (r *Receiver) Mount(router fiber.Router) {
	router.Post(Path, r.post)
	router.Get(Path, r.list)
	router.Get(Path+"deliveries.json", r.json)
	router.Get(Path+"deliveries/:number/", r.one)
}

// post receives a delivery.
func (r *Receiver) post(c *fiber.Ctx) error {
	share := r.Memory.ReservationOf(bodyLimit.Class, body.ClientSender(c.Context(), r.Proxies))
	defer share.Release()
	received, err := body.Read(c.UserContext(), c.Context(), bodyLimit, &share)
	if err != nil {
		return err
	}
	header := func(name string) string { return strings.Clone(c.Get(name)) }
	d := Delivery{WebhookID: header(webhook.HeaderID), EventType: header(webhook.HeaderEventType)}
	c.Request().Header.VisitAll(func(name, value []byte) {
		d.Headers = append(d.Headers, Header{validUTF8(name), validUTF8(value)})
	})
	slices.SortStableFunc(d.Headers, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	signed := webhook.Signature{ID: d.WebhookID, Timestamp: header(webhook.HeaderTimestamp),
		Signatures: header(webhook.HeaderSignature)}
	d.WebhookID, d.EventType = validUTF8([]byte(d.WebhookID)), validUTF8([]byte(d.EventType))
	r.accept(c.UserContext(), d, signed, received)
	return c.Status(http.StatusOK).JSON(fiber.Map{"status": "received"})
}

// validUTF8 returns raw with invalid bytes replaced.
func validUTF8(raw []byte) string { return strings.ToValidUTF8(string(raw), "\uFFFD") }

// previewBytes is about how much of an indented body the list shows.
const previewBytes = 6 << 10

// list shows the stored deliveries.
func (r *Receiver) list(c *fiber.Ctx) error {
	deliveries, total := r.Deliveries()
	v := listView{page: r.page("Demo receiver"), base: r.BaseURL, total: total, capacity: r.Capacity}
	for _, d := range deliveries {
		v.deliveries = append(v.deliveries, newDeliveryView(d, previewBytes))
	}
	return ui.Write(c, http.StatusOK, listPage(v))
}

// one shows a delivery.
func (r *Receiver) one(c *fiber.Ctx) error {
	number, err := strconv.Atoi(c.Params("number"))
	var d *Delivery
	if err == nil {
		d = r.delivery(number)
	}
	if d == nil {
		return ui.Write(c, http.StatusNotFound, notFoundPage(r.page("Delivery not found")))
	}
	return ui.Write(c, http.StatusOK, detailPage(r.page(fmt.Sprintf("Delivery %d", number)),
		newDeliveryView(d, 4*MaxBody)))
}

func (r *Receiver) page(title string) ui.Page {
	return ui.Page{Title: title, Links: r.Links, Active: Path}
}

// deliveryJSON is a delivery in the JSON list.
type deliveryJSON struct {
	Number     int             `json:"number"`
	WebhookID  string          `json:"webhook_id"`
	EventType  string          `json:"event_type"`
	Verified   bool            `json:"verified"`
	VerifiedBy string          `json:"verified_by,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	ReceivedAt string          `json:"received_at"`
	Size       int             `json:"size"`
	Repeat     int             `json:"repeat"`
	Reference  string          `json:"reference,omitempty"`
	Stats      *Stats          `json:"stats,omitempty"`
	Body       json.RawMessage `json:"body,omitempty"` // a string
	Clipped    *bool           `json:"body_clipped,omitempty"`
}

// setBody adds the body of a delivery, and subtracts its size from left. Once nothing is left, it adds no more.
func (j *deliveryJSON) setBody(d *Delivery, left *int) {
	clipped := true
	if *left > 0 {
		body, _ := json.Marshal(validUTF8(d.Body)) // cannot fail for a string
		if *left -= len(body); *left >= 0 {
			j.Body, clipped = body, d.Clipped()
		}
	}
	j.Clipped = &clipped
}

// maxListed bounds the encoded bodies of the JSON list, because anyone can read it as slowly as the server allows.
const maxListed = 2 << 20

// json lists the stored deliveries, or the newest by the parameter limit. With body=true it includes the stored bodies
// of the newest ones. A body for which nothing is left of maxListed is absent and counts as clipped.
func (r *Receiver) json(c *fiber.Ctx) error {
	deliveries, total := r.Deliveries()
	if limit := c.QueryInt("limit", len(deliveries)); limit >= 0 && limit < len(deliveries) {
		deliveries = deliveries[:limit]
	}
	withBody, left := c.QueryBool("body"), maxListed
	list := make([]deliveryJSON, len(deliveries))
	for i, d := range deliveries {
		list[i] = deliveryJSON{
			Number: d.Number, WebhookID: d.WebhookID, EventType: d.EventType,
			Verified: d.Signature.Verified, VerifiedBy: d.Signature.By, Reason: d.Signature.Reason,
			ReceivedAt: d.At.UTC().Format("2006-01-02T15:04:05.000000Z"), Size: d.Size, Repeat: d.Repeat,
			Reference: d.Reference, Stats: d.StoreStats,
		}
		if withBody {
			list[i].setBody(d, &left)
		}
	}
	c.Set(fiber.HeaderCacheControl, "no-store")
	return c.JSON(fiber.Map{"deliveries": list, "total": total})
}
