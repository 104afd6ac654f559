package overview

import (
	"fmt"
	"net/url"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/jobs"
	"github.com/servery-hub/servery/adminui/orders"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
)

// notices collects causes.
type notices struct {
	v        *shell.PageContext
	plugins  map[string]*console.Plugin // by id
	withName func(core.BusinessID, ui.Cause) ui.Cause
	// With several businesses, closed stores and events without webhooks are left out. Both are usual: merchants
	// close stores daily, and many POS subscribe to orders only.
	severalBusinesses bool
	causes            []ui.Cause
}

// add adds a cause of a business, with up to two links.
func (n *notices) add(business core.BusinessID, c ui.Cause, links ...ui.Link) {
	c = n.withName(business, c)
	for i, link := range links {
		if i == 0 {
			c.Link = link
		} else {
			c.SecondLink = link
		}
	}
	n.causes = append(n.causes, c)
}

// link links a page of a business.
func link(business core.BusinessID, path, label string) ui.Link {
	return ui.Link{Href: shell.BusinessLink(business, path), Label: label}
}

func settingsLink(business core.BusinessID, platform string) ui.Link {
	return ui.Link{Href: shell.PlatformLink(business, platform), Label: text.ActSeeSettings}
}

func storeLink(business core.BusinessID, store int64) ui.Link {
	return link(business, fmt.Sprintf("stores/%d/", store), text.ActSeeStore)
}

func ordersLink(business core.BusinessID, state string) ui.Link {
	return link(business, "orders/?state="+state, text.ActSeeOrders)
}

// failedCalls is the list of the calls that failed in the last day, up to the name of the platform.
const failedCalls = "calls/?state=failed&of=failed&when=24h&platform="

// gridPath returns the path of the stores with a reason on a platform, or on any if that is "".
func gridPath(reason console.PlaceReason, platform string) string {
	path := "grid/?reason=" + string(reason)
	if platform != "" {
		path += "&platform=" + url.QueryEscape(platform)
	}
	return path
}

// addAll adds the causes of all notices, most severe first.
func (n *notices) addAll(found console.Notices) {
	n.addPlatforms(found)
	n.addOrders(found)
	for _, j := range found.PartlyFailed {
		n.add(j.Business, cause.PartlyFailedJobs(j, jobs.Describe(j.Kind, j.Subject)),
			link(j.Business, "jobs/"+j.Reference.String()+"/", text.ActSeeJob),
			link(j.Business, "jobs/?state="+console.WithFailures+"&when=24h", text.ActSeeRequests))
	}
	n.addStores(found)
	n.addClients(found)
}

// addPlatforms adds menus and calls that platforms reject.
func (n *notices) addPlatforms(found console.Notices) {
	for _, r := range found.Menus {
		links := []ui.Link{link(r.Business, gridPath(console.PlaceMenuRejected, r.Platform), text.ActSeeGrid)}
		if plugin := n.plugins[r.ServedBy]; plugin == nil || cause.SettingsRemedy(plugin.About, r.Message) != "" {
			links = append([]ui.Link{settingsLink(r.Business, r.Platform)}, links...)
		}
		n.add(r.Business, cause.RejectedMenus(r, n.plugins[r.ServedBy], n.v.Zone), links...)
	}
	for _, r := range found.Calls {
		links := []ui.Link{link(r.Business, failedCalls+url.QueryEscape(r.Platform), text.ActSeeCalls)}
		if plugin := n.plugins[r.ServedBy]; plugin != nil &&
			cause.SettingsRemedy(plugin.About, cause.CallMessage(r)) != "" {
			links = append(links, settingsLink(r.Business, r.Platform))
		} else if r.Orders {
			links = append(links, ordersLink(r.Business, orders.CallFailed+"&platform="+url.QueryEscape(r.Platform)))
		}
		n.add(r.Business, cause.FailedCalls(r, n.plugins[r.ServedBy], n.v.Zone), links...)
	}
}

// addOrders adds orders that no webhook received, that wait, or that were rejected.
func (n *notices) addOrders(found console.Notices) {
	for _, u := range found.Unnotified {
		n.add(u.Business, cause.UnnotifiedOrders(u, n.v.Zone), ordersLink(u.Business, orders.Unnotified))
	}
	for _, w := range found.Overdue {
		n.add(w.Business, cause.OverdueOrders(w, n.v.Zone), ordersLink(w.Business, orders.Unacknowledged))
	}
	for _, t := range found.RejectedOrders {
		path := orders.RejectedLink(t.HubFault, map[string]string{"when": "24h"}) // console.RejectionWindow
		n.add(t.Business, cause.RejectedOrders(t, n.v.Zone), link(t.Business, path, text.ActSeeRejected))
	}
}

// addStores adds silent and closed stores.
func (n *notices) addStores(found console.Notices) {
	for _, s := range found.Silent {
		n.add(s.Business, cause.SilentStores(s, n.v.Zone), storeLink(s.Business, s.StoreID))
	}
	if n.severalBusinesses {
		return
	}
	for _, c := range found.Closed {
		n.add(c.Business, cause.ClosedStores(c, n.v.Zone), storeLink(c.Business, c.StoreID),
			link(c.Business, gridPath(console.PlaceClosed, ""), text.ActSeeGrid))
	}
}

// addClients adds requests with a revoked key, throttled requests, and events without a webhook.
func (n *notices) addClients(found console.Notices) {
	for _, k := range found.Revoked {
		n.add(k.Business, cause.RevokedKey(k, n.v.Zone), link(k.Business, "keys/", text.ActSeeKeys))
	}
	for _, t := range found.Throttled {
		if t.Until.After(n.v.Now) || t.Name != cause.SubscriptionLimit &&
			t.Until.After(n.v.Now.Add(-throttleNoticeAge)) {
			n.add(t.Business, cause.Throttled(t, n.v.Now, n.v.Zone))
		}
	}
	if n.severalBusinesses {
		return
	}
	for _, u := range found.Unrouted {
		var links []ui.Link
		if u.Webhook != 0 {
			links = []ui.Link{link(u.Business, fmt.Sprintf("webhooks/%d/", u.Webhook), text.ActSeeWebhook)}
		}
		n.add(u.Business, cause.UnroutedEvents(u, n.v.Zone), links...)
	}
}
