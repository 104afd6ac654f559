package receiver

import (
	"fmt"

	"github.com/servery-hub/servery/adminui/ui"
)

const emptyText = "Two commands bring the first callback here. The hub prints a username and a key that work when " +
	"it starts with demo data."

// listView is the view model of the list.
type listView struct {
	page            ui.Page
	base            string
	total, capacity int
	deliveries      []deliveryView
}

// deliveryView is the view model of a delivery.
type deliveryView struct {
	*Delivery
	body     string
	complete bool // body is not truncated
}

func newDeliveryView(d *Delivery, limit int) deliveryView {
	v := deliveryView{Delivery: d}
	v.body, v.complete = ui.Indent(d.Body, limit)
	v.complete = v.complete && !d.Clipped()
	return v
}

func (d deliveryView) id() string { return fmt.Sprintf("delivery-%d", d.Number) }

func (d deliveryView) link() string { return fmt.Sprintf("%sdeliveries/%d/", Path, d.Number) }

func (d deliveryView) title() string {
	if d.EventType == "" {
		return "No event type"
	}
	return d.EventType
}

// state returns the colour and label of the signature badge.
func (d deliveryView) state() (ui.State, string) {
	switch {
	case d.Signature.Verified:
		return ui.OK, "Signature verified"
	case d.Signature.Missing:
		return ui.Warn, "Not signed"
	default:
		return ui.Err, "Signature not verified"
	}
}

// reason explains the badge.
func (d deliveryView) reason() string {
	if d.Signature.Verified {
		return "made by the secret of " + d.Signature.By
	}
	return d.Signature.Reason
}

// bodyLabel returns the heading of the body.
func (d deliveryView) bodyLabel() string {
	switch {
	case d.complete:
		return "Body, " + ui.Size(d.Size)
	default:
		return "The beginning of the body; it has " + ui.Size(d.Size)
	}
}

func pluralize(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func (v listView) subscribe() string {
	return "curl -X POST " + v.base + "/external/api/v1/webhooks/ \\\n" +
		"  -H 'Authorization: apikey USERNAME:API_KEY' \\\n" +
		"  -H 'Content-Type: application/json' \\\n" +
		`  -d '{"event_type": "store_creation", "url": "` + v.base + Path + `"}'`
}

func (v listView) sendStore() string {
	return "curl -X POST " + v.base + "/external/api/v1/stores/ \\\n" +
		"  -H 'Authorization: apikey USERNAME:API_KEY' \\\n" +
		"  -H 'Content-Type: application/json' \\\n" +
		`  -d '{"stores": [{"ref_id": "S-17", "name": "Market Street", "city": "San Francisco"}]}'`
}
