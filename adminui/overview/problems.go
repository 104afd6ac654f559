package overview

import (
	"context"
	"fmt"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/jobs"
	"github.com/servery-hub/servery/adminui/plugins"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/adminui/webhooks"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
)

// problems lists the problems of plugins, webhooks and jobs, then the notices.
func (p Pages) problems(ctx context.Context, v *shell.PageContext, found []console.Plugin, ids []core.BusinessID,
	names map[core.BusinessID]string) ([]ui.Cause, error) {
	endpoints, err := p.Activity.UnhealthyEndpoints(ctx, ids, maxProblemsRead)
	if err != nil {
		return nil, err
	}
	failed, err := p.Activity.FailedJobs(ctx, ids, v.Now.Add(-day), maxProblemsRead)
	if err != nil {
		return nil, err
	}
	withName := func(business core.BusinessID, c ui.Cause) ui.Cause {
		if name := names[business]; name != "" {
			c.Text = name + " · " + c.Text
		}
		return c
	}
	causes := plugins.Causes(found, v.Zone)
	failures, left := fairShare(webhooks.Causes(v, endpoints),
		func(f cause.Failure) core.BusinessID { return f.Webhooks[0].Business })
	for _, f := range failures {
		causes = append(causes, withName(f.Webhooks[0].Business, f.Cause))
	}
	causes = append(causes, moreCause(left, len(endpoints), text.MoreWebhooks)...)
	shown, left := fairShare(failed, func(j console.Job) core.BusinessID { return j.Business })
	for _, j := range shown {
		c := withName(j.Business, namedJob(j))
		c.Link = ui.Link{Href: shell.BusinessLink(j.Business, "jobs/"+j.Reference.String()+"/"), Label: text.ActSeeJob}
		causes = append(causes, c)
	}
	causes = append(causes, moreCause(left, len(failed), text.MoreJobs)...)
	current, err := p.Activity.Notices(ctx, ids, v.Now.Add(-day))
	if err != nil {
		return nil, err
	}
	collected := notices{v: v, plugins: byID(found), withName: withName, severalBusinesses: names != nil,
		causes: causes}
	collected.addAll(current)
	return collected.causes, nil
}

// namedJob explains the state of a job, which it names.
func namedJob(j console.Job) ui.Cause {
	c := cause.Job(j, nil)
	c.Text = fmt.Sprintf(text.JobNamed, jobs.Describe(j.Kind, j.Subject), c.Text)
	return c
}

// fairShare returns at most maxProblems of a list, and how many are left out. It takes the first of each business
// before the second of any, so that no business hides another.
func fairShare[T any](list []T, of func(T) core.BusinessID) (shown []T, left int) {
	rank, seen := make(map[int][]T), make(map[core.BusinessID]int)
	for _, one := range list {
		rank[seen[of(one)]] = append(rank[seen[of(one)]], one)
		seen[of(one)]++
	}
	for n := 0; len(shown) < len(list); n++ {
		shown = append(shown, rank[n]...)
	}
	shown = shown[:min(len(shown), maxProblems)]
	return shown, len(list) - len(shown)
}

// moreCause reports how many problems are not shown. The number is unknown if the read limit was reached.
func moreCause(left, read int, words string) []ui.Cause {
	if left == 0 && read < maxProblemsRead {
		return nil
	}
	number := ui.Number(left)
	if read == maxProblemsRead {
		number = text.UnknownNumber
	}
	return []ui.Cause{{State: ui.Neutral, Text: fmt.Sprintf(words, number)}}
}

func byID(found []console.Plugin) map[string]*console.Plugin {
	plugins := map[string]*console.Plugin{}
	for i := range found {
		plugins[found[i].ID] = &found[i]
	}
	return plugins
}
