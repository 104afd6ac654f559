package receiver

import (
	"fmt"

	"github.com/servery-hub/servery/adminui/ui"
)

// emptyText says how the first delivery arrives.
const emptyText = "Two commands bring the first callback here. The hub prints a username and a key that work when " +
	"it starts with demo data."

// listView is the list as the template sees it.
type listView struct {
	page            ui.Page
	base            string
	total, capacity int
	deliveries      []deliveryView
}

// deliveryView is a delivery as shown.
type deliveryView struct {
	*Delivery
	body     string
	complete bool // the body is shown to its end
}

func newDeliveryView(d *Delivery, limit int) deliveryView {
	v := deliveryView{Delivery: d}
	v.body, v.complete = pretty(d.Body, limit)
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

// state is the badge of the signature.
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

// reason says what the badge means.
func (d deliveryView) reason() string {
	if d.Signature.Verified {
		return "made by the secret of " + d.Signature.By
	}
	return d.Signature.Reason
}

// bodyLabel is the line above the body.
func (d deliveryView) bodyLabel() string {
	switch {
	case d.complete:
		return "Body, " + ui.Size(d.Size)
	default:
		return "The beginning of the body; it has " + ui.Size(d.Size)
	}
}

// pluralize is a number with its noun.
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
