package overview

import (
	"context"
	"fmt"
	"net/url"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/jobs"
	"github.com/servery-hub/servery/adminui/orders"
	"github.com/servery-hub/servery/adminui/plugins"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/adminui/webhooks"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
)

// troubles are what needs attention: plugins, then webhooks, then jobs, then what
// does not come through.
func (p Pages) troubles(ctx context.Context, v *shell.Visit, found []console.Plugin, ids []core.BusinessID, names map[core.BusinessID]string) ([]ui.Cause, error) {
	endpoints, err := p.Records.Troubled(ctx, ids, troublesRead)
	if err != nil {
		return nil, err
	}
	failed, err := p.Records.FailedJobs(ctx, ids, v.Now.Add(-day), troublesRead)
	if err != nil {
		return nil, err
	}
	of := func(business core.BusinessID, c ui.Cause) ui.Cause {
		if name := names[business]; name != "" {
			c.Text = name + ": " + c.Text
		}
		return c
	}
	causes := plugins.Causes(found, v.Zone)
	alike, left := shared(webhooks.Causes(v, endpoints), func(f cause.Failure) core.BusinessID { return f.Webhooks[0].Business })
	for _, f := range alike {
		causes = append(causes, of(f.Webhooks[0].Business, f.Cause))
	}
	causes = append(causes, more(left, len(endpoints), text.MoreWebhooks)...)
	shown, left := shared(failed, func(j console.Job) core.BusinessID { return j.Business })
	for _, j := range shown {
		c := of(j.Business, cause.Job(j, nil))
		c.Link = ui.Link{Href: shell.BusinessLink(j.Business, "jobs/"+j.Reference.String()+"/"), Label: text.ActSeeJob}
		causes = append(causes, c)
	}
	causes = append(causes, more(left, len(failed), text.MoreJobs)...)
	notices, err := p.Records.Notices(ctx, ids, v.Now.Add(-day))
	if err != nil {
		return nil, err
	}
	return append(causes, noticed(v, notices, found, of, names != nil)...), nil
}

// shared are at most troublesShown of a list, and how many are left: of every business
// its first before the second of any, so that none hides another.
func shared[T any](list []T, of func(T) core.BusinessID) (shown []T, left int) {
	rank, seen := make(map[int][]T), make(map[core.BusinessID]int)
	for _, one := range list {
		rank[seen[of(one)]] = append(rank[seen[of(one)]], one)
		seen[of(one)]++
	}
	for n := 0; len(shown) < len(list); n++ {
		shown = append(shown, rank[n]...)
	}
	shown = shown[:min(len(shown), troublesShown)]
	return shown, len(list) - len(shown)
}

// more says how many troubles are not shown, which is unknown where as many were read
// as are read at most.
func more(left, read int, words string) []ui.Cause {
	if left == 0 && read < troublesRead {
		return nil
	}
	number := ui.Number(left)
	if read == troublesRead {
		number = text.UnknownNumber
	}
	return []ui.Cause{{State: ui.Neutral, Text: fmt.Sprintf(words, number)}}
}

// noticed are the causes of notices. Of many businesses, what else but orders nobody
// was told of does not count: many a POS wants no other event.
func noticed(v *shell.Visit, notices console.Notices, found []console.Plugin, of func(core.BusinessID, ui.Cause) ui.Cause, many bool) (causes []ui.Cause) {
	byID := byID(found)
	for _, r := range notices.Menus {
		c := of(r.Business, cause.MenusRefused(r, byID[r.ServedBy]))
		c.Link = ui.Link{Href: shell.PlatformLink(r.Business, r.Platform), Label: text.ActSeeSettings}
		c.Also = ui.Link{Href: shell.BusinessLink(r.Business, "grid/"), Label: text.ActSeeGrid}
		causes = append(causes, c)
	}
	for _, r := range notices.Calls {
		c := of(r.Business, cause.CallsRefused(r, byID[r.ServedBy], v.Zone))
		c.Link = ui.Link{Href: shell.PlatformLink(r.Business, r.Platform), Label: text.ActSeeSettings}
		if r.Orders {
			c.Also = ui.Link{Href: shell.BusinessLink(r.Business, "orders/?state="+orders.Untaken+"&platform="+url.QueryEscape(r.Platform)), Label: text.ActSeeOrders}
		}
		causes = append(causes, c)
	}
	for _, u := range notices.Untold {
		c := of(u.Business, cause.Untold(u, v.Zone))
		c.Link = ui.Link{Href: shell.BusinessLink(u.Business, "orders/?state="+orders.Untold), Label: text.ActSeeOrders}
		causes = append(causes, c)
	}
	for _, w := range notices.Waiting {
		c := of(w.Business, cause.Waiting(w, v.Zone))
		c.Link = ui.Link{Href: shell.BusinessLink(w.Business, "orders/?state="+orders.Unacknowledged), Label: text.ActSeeOrders}
		causes = append(causes, c)
	}
	for _, n := range notices.NotTaken {
		c := of(n.Business, cause.NotTaken(n, v.Zone))
		c.Link = ui.Link{Href: shell.BusinessLink(n.Business, orders.RefusedPath), Label: text.ActSeeRefused}
		causes = append(causes, c)
	}
	for _, j := range notices.Refused {
		c := of(j.Business, cause.JobsRefused(j, jobs.About(j.Kind, j.Subject)))
		c.Link = ui.Link{Href: shell.BusinessLink(j.Business, "jobs/"+j.Reference.String()+"/"), Label: text.ActSeeJob}
		c.Also = ui.Link{Href: shell.BusinessLink(j.Business, "jobs/?state="+console.WithRefusals), Label: text.ActSeeRequests}
		causes = append(causes, c)
	}
	for _, s := range notices.Silent {
		c := of(s.Business, cause.Silent(s, v.Zone))
		c.Link = ui.Link{Href: shell.BusinessLink(s.Business, fmt.Sprintf("stores/%d/", s.StoreID)), Label: text.ActSeeStore}
		causes = append(causes, c)
	}
	for _, n := range notices.Closed {
		if many { // of one business it is worth a word; merchants close stores every day
			continue
		}
		c := of(n.Business, cause.Closed(n, v.Zone))
		c.Link = ui.Link{Href: shell.BusinessLink(n.Business, fmt.Sprintf("stores/%d/", n.StoreID)), Label: text.ActSeeStore}
		c.Also = ui.Link{Href: shell.BusinessLink(n.Business, "grid/"), Label: text.ActSeeGrid}
		causes = append(causes, c)
	}
	for _, k := range notices.Revoked {
		c := of(k.Business, cause.Revoked(k, v.Zone))
		c.Link = ui.Link{Href: shell.BusinessLink(k.Business, "keys/"), Label: text.ActSeeKeys}
		causes = append(causes, c)
	}
	for _, t := range notices.Throttled {
		if t.Until.After(v.Now) || t.Name != cause.Subscribing && t.Until.After(v.Now.Add(-throttledLately)) {
			causes = append(causes, of(t.Business, cause.Throttled(t, v.Now, v.Zone)))
		}
	}
	for _, u := range notices.Unheard {
		if many {
			continue
		}
		c := of(u.Business, cause.Unheard(u, v.Zone))
		if u.Webhook != 0 {
			c.Link = ui.Link{Href: shell.BusinessLink(u.Business, fmt.Sprintf("webhooks/%d/", u.Webhook)), Label: text.ActSeeWebhook}
		}
		causes = append(causes, c)
	}
	return causes
}

// byID are plugins by their ids.
func byID(found []console.Plugin) map[string]*console.Plugin {
	plugins := map[string]*console.Plugin{}
	for i := range found {
		plugins[found[i].ID] = &found[i]
	}
	return plugins
}
