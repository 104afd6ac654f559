// Package jobs lists jobs, and shows the request, the result and the callback of a job.
package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/deliveries"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/job"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/webhook"
)

// Reader reads jobs and the publications that they caused.
type Reader interface {
	ListJobs(ctx context.Context, business core.BusinessID, f console.JobFilter) ([]console.Job, error)
	SearchJobs(ctx context.Context, business core.BusinessID, f console.JobFilter,
		text string) ([]console.Job, console.SearchProgress[console.Job], error)
	Job(ctx context.Context, business core.BusinessID, reference core.ID) (console.JobDetail, error)
	PublishingOfRequest(ctx context.Context, business core.BusinessID, reference core.ID) ([]console.Publishing, error)
	FailureWeek(ctx context.Context, business core.BusinessID) (console.FailureWeek, error)
}

// Rerunner submits the request of a job as a new job.
type Rerunner interface {
	Rerun(ctx context.Context, business core.BusinessID, reference core.ID, change access.Change) (core.ID, error)
}

// Pages is the job pages.
type Pages struct {
	Jobs       Reader
	Rerunner   Rerunner
	Deliveries Deliveries
}

// Page describes the pages.
func (p Pages) Page() shell.Page {
	const path = shell.BusinessPath + "jobs/"
	return shell.Page{Path: path, Label: text.Jobs,
		Routes: []shell.Route{
			shell.Get(path, access.Viewer, p.List),
			shell.Get(path+":reference/", access.Viewer, p.One),
			shell.Get(path+":reference/diff/", access.Viewer, p.Diff),
			shell.Post(path+":reference/rerun/", access.Support, p.Rerun),
			shell.Get(path+":reference/request.json", access.Viewer, p.Request),
			shell.Get(path+":reference/callback.json", access.Viewer, p.Callback),
			shell.Get(path+":reference/result.json", access.Viewer, p.Result),
		},
		Filters: &shell.Filters{Names: filterNames, Check: shell.CheckBy(parseFilter)},
		Done:    map[string]string{"ran": text.RanAgain}}
}

// Deliveries reads deliveries.
type Deliveries interface {
	List(ctx context.Context, business core.BusinessID, filter webhook.Filter) ([]webhook.DeliveryRecord, error)
}

var kindOptions = []ui.Option{{Value: "", Label: text.Any}, {Value: string(core.StoreJob), Label: text.Kind_stores},
	{Value: string(core.MenuJob), Label: text.Kind_menu},
	{Value: string(core.OrderRetryJob), Label: text.Kind_order_retry},
	{Value: string(core.BulkResendJob), Label: text.Kind_redelivery},
	{Value: string(core.ProblemResendJob), Label: text.Kind_problem_resend},
	{Value: string(core.TimingJob), Label: text.Kind_timing_groups},
	{Value: string(core.RecheckJob), Label: text.Kind_recheck}}

var stateOptions = []ui.Option{{Value: "", Label: text.Any}, {Value: string(job.Queued), Label: text.State_queued},
	{Value: string(job.Running), Label: text.State_running}, {Value: string(job.Done), Label: text.State_done},
	{Value: console.WithFailures, Label: text.DoneWithErrors},
	{Value: console.WithWarnings, Label: fmt.Sprintf(text.DoneWarned, text.State_done)},
	{Value: string(job.Failed), Label: text.State_failed}}

// optionLabel returns the label of a value, or the value if it is not among the options.
func optionLabel(options []ui.Option, value string) string {
	for _, o := range options {
		if o.Value == value {
			return o.Label
		}
	}
	return value
}

// Describe names a job by its kind and subject.
func Describe(kind core.JobKind, about string) string {
	name := optionLabel(kindOptions, string(kind))
	if about == "" {
		return name
	}
	return fmt.Sprintf(text.DescribedJob, name, subject(about))
}

func subject(s string) string {
	if s == menu.MasterLocation {
		return text.MasterCatalogue
	}
	return s
}

func stateOf(j console.Job) (ui.State, string) {
	words := optionLabel(stateOptions, j.State)
	switch j.State {
	case string(job.Failed):
		return ui.Err, words
	case string(job.Done):
		if sent, failed := cause.RetriedOrders(j); failed > 0 {
			return cause.Job(j, nil).State, fmt.Sprintf(text.DoneButAgain, words, ui.Number(failed), ui.Number(sent))
		}
		if selected, missed := cause.MissedDeliveries(j); missed > 0 {
			format := text.DoneUnsent
			if j.Kind == core.ProblemResendJob {
				format = text.DoneUndelivered
			}
			return cause.Job(j, nil).State, fmt.Sprintf(format, words, ui.Number(missed), ui.Number(selected))
		}
		if n := job.FailedObjects(j.Result); n > 0 {
			return ui.Warn, fmt.Sprintf(text.DoneBut, words, ui.Number(n), ui.Number(j.Total))
		}
		if len(cause.Warnings(j)) > 0 {
			return ui.Warn, fmt.Sprintf(text.DoneWarned, words)
		}
		return ui.OK, words
	case string(job.Running):
		return ui.Run, words
	}
	return ui.Wait, words
}

// jobView is the view model of a job.
type jobView struct {
	facts       []ui.Fact
	groups      []console.Group
	request     bodyView
	outcome     bodyView
	result      ui.Payload
	deliveries  ui.List // of the callback
	callback    string  // why deliveries are empty, in a sentence; "": they are not, or the kind has no callback
	hasCallback bool    // the kind of job has a callback
	hasEvent    bool    // the callback was created
	progress    string  // percent of a running job
}

// bodyView is a body with the URL that downloads it.
type bodyView struct {
	payload     ui.Payload
	downloadURL string
}

// maxDeliveries limits how many deliveries of a job are read.
const maxDeliveries = 200

func (p Pages) detail(c *fiber.Ctx, v *shell.PageContext) (console.JobDetail, error) {
	reference, err := uuid.Parse(c.Params("reference"))
	if err != nil {
		return console.JobDetail{}, core.Errorf(core.NotFound, text.NotFound)
	}
	return p.Jobs.Job(c.UserContext(), v.Business.ID, reference)
}

// One shows a job.
func (p Pages) One(c *fiber.Ctx, v *shell.PageContext) error {
	j, err := p.detail(c, v)
	if err != nil {
		return err
	}
	groups := console.GroupErrors(j.Outcome)
	if j.Outcome == nil {
		groups = console.GroupResultErrors(j.Result)
	}
	page := v.Link("jobs/" + j.Reference.String() + "/")
	view := jobView{facts: facts(v, j), groups: groups, hasCallback: hasCallback(j), hasEvent: j.Event != core.ID{},
		request: bodyView{ui.PayloadOf("request", text.Request, j.Request, ui.MaxShown, page+"request.json"),
			page + "request.json"}}
	if j.DryRun {
		view.result = ui.PayloadOf("result", text.Result, j.Result, ui.MaxShown, page+"result.json")
	}
	if j.State == string(job.Running) && j.Total > 0 {
		view.progress = fmt.Sprint(100 * j.Done / j.Total)
	}
	if err := p.addDeliveries(c.UserContext(), v, j, &view); err != nil {
		return err
	}
	label := text.Result
	if view.callback == "" {
		label = text.Outcome
	}
	view.outcome = bodyView{ui.PayloadOf("callback", label, j.Outcome, ui.MaxShown, page+"callback.json"),
		page + "callback.json"}
	head := shell.Head{Title: optionLabel(kindOptions, string(j.Kind)), Note: j.Reference.String(),
		Parent: ui.Link{Href: v.Link("jobs/"), Label: text.Jobs},
		Causes: []ui.Cause{cause.Job(j.Job, groups)}, Live: true}
	if published, err := p.publishCause(c.UserContext(), v, j.Job); err != nil {
		return err
	} else if published.Text != "" {
		head.Causes = append(head.Causes, published)
	}
	if hasComparison(j) {
		head.Links = []ui.Link{{Href: page + "diff/", Label: text.DiffShow}}
	}
	if v.MayAct() && !j.FinishedAt.IsZero() && (j.Kind == core.StoreJob || j.Kind == core.MenuJob) {
		head.Buttons = []ui.Button{{Label: text.RunAgain, Action: page + "rerun/", ReasonLabel: text.Why, Key: "r",
			Help: text.RunAgainSay}}
	}
	return v.Show(c, head, jobPage(view))
}

// hasCallback reports whether a job sends its result to the POS. Dry runs and jobs that no request of the POS starts
// send none.
func hasCallback(j console.JobDetail) bool {
	switch j.Kind {
	case core.BulkResendJob, core.ProblemResendJob, core.RecheckJob:
		return false
	}
	return !j.DryRun
}

// addDeliveries adds the deliveries of the callback, or why there are none. The callback is the first event of its
// job, before those of the publications. It expires together with its deliveries.
func (p Pages) addDeliveries(ctx context.Context, v *shell.PageContext, j console.JobDetail, view *jobView) error {
	switch {
	case !view.hasEvent && j.FinishedAt.IsZero():
		view.callback = text.NoAttempts
	case !view.hasEvent:
		view.callback = text.NoCallback
	}
	if !view.hasEvent {
		return nil
	}
	found, err := p.Deliveries.List(ctx, v.Business.ID,
		webhook.Filter{Reference: j.Reference.String(), Sort: webhook.OldestFirst, Limit: maxDeliveries})
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(slices.Clone(found), func(d webhook.DeliveryRecord) bool { return d.EventID != j.Event })
	view.deliveries = deliveries.EventTable(v, found)
	switch {
	case len(found) > 0:
	case j.Outcome == nil:
		view.callback = text.DeliveriesGone
	default:
		view.callback = text.NoCallbackText
	}
	return nil
}

// facts lists the properties of a job.
func facts(v *shell.PageContext, j console.JobDetail) []ui.Fact {
	state, words := stateOf(j.Job)
	list := []ui.Fact{{Label: text.State, Cell: ui.StateCell(state, words)},
		{Label: text.Kind, Cell: ui.T(optionLabel(kindOptions, string(j.Kind)))},
		{Label: text.Subject, Cell: ui.T(subject(j.Subject))}, {Label: text.Objects, Cell: ui.T(ui.Number(j.Total))},
		{Label: text.Created, Cell: ui.TimeCell(v.At(j.CreatedAt))},
		{Label: text.Started, Cell: ui.TimeCell(v.At(j.StartedAt))},
		{Label: text.Finished, Cell: ui.TimeCell(v.At(j.FinishedAt))}, {Label: text.Took, Cell: ui.T(duration(j.Job))},
		{Label: text.Attempts, Cell: ui.T(fmt.Sprint(j.Attempts))},
		{Label: text.RequestID, Cell: ui.CodeCell(j.RequestID)}}
	if j.CallbackURL != "" {
		list = append(list, ui.Fact{Label: text.CallbackTo, Cell: ui.CodeCell(j.CallbackURL)})
	}
	link := func(reference core.ID, label string) ui.Fact {
		return ui.Fact{Label: label,
			Cell: ui.Cell{Text: reference.String(), Href: v.Link("jobs/" + reference.String() + "/"), Code: true}}
	}
	if j.RepeatOf != (core.ID{}) {
		list = append(list, link(j.RepeatOf, text.RunAgainOf))
	}
	for _, run := range j.Repeats {
		list = append(list, link(run, text.RunAgainAs))
	}
	return list
}

// publishCause reports whether platforms have the menu changes of a job. It is zero if the job changed no menus.
func (p Pages) publishCause(ctx context.Context, v *shell.PageContext, j console.Job) (ui.Cause, error) {
	if j.State != string(job.Done) || j.Kind != core.StoreJob && j.Kind != core.MenuJob && j.Kind != core.TimingJob {
		return ui.Cause{}, nil
	}
	found, err := p.Jobs.PublishingOfRequest(ctx, v.Business.ID, j.Reference)
	if err != nil || len(found) == 0 {
		return ui.Cause{}, err
	}
	status := cause.PublishResult(found, v.Zone)
	status.Link = ui.Link{Href: v.Link("grid/"), Label: text.ActSeeGrid}
	if status.State == ui.Err {
		status.Link.Href += "?reason=" + string(console.PlaceMenuRejected)
	}
	return status, nil
}

// Rerun submits the request of the job as a new job.
func (p Pages) Rerun(c *fiber.Ctx, v *shell.PageContext) error {
	reference, err := uuid.Parse(c.Params("reference"))
	if err != nil {
		return core.Errorf(core.NotFound, text.NotFound)
	}
	rerun, err := p.Rerunner.Rerun(c.UserContext(), v.Business.ID, reference, v.Change(c, "job.rerun"))
	if err != nil {
		return err
	}
	return shell.RedirectDone(c, v.Link("jobs/"+rerun.String()+"/"), "ran")
}

func duration(j console.Job) string {
	if j.FinishedAt.IsZero() || j.StartedAt.IsZero() {
		return ""
	}
	return ui.Took(max(j.FinishedAt.Sub(j.StartedAt), time.Microsecond))
}

// Request downloads the request body.
func (p Pages) Request(c *fiber.Ctx, v *shell.PageContext) error {
	j, err := p.detail(c, v)
	if err != nil {
		return err
	}
	return ui.File(c, j.Reference.String()+"-request.json", j.Request)
}

// Callback downloads the callback body.
func (p Pages) Callback(c *fiber.Ctx, v *shell.PageContext) error {
	j, err := p.detail(c, v)
	if err == nil && j.Outcome == nil {
		err = core.Errorf(core.NotFound, text.NotFound)
	}
	if err != nil {
		return err
	}
	return ui.File(c, j.Reference.String()+"-callback.json", j.Outcome)
}

// Result downloads the result of a job.
func (p Pages) Result(c *fiber.Ctx, v *shell.PageContext) error {
	j, err := p.detail(c, v)
	if err != nil {
		return err
	}
	return ui.File(c, j.Reference.String()+"-result.json", j.Result)
}

func objectCount(n int) string { return ui.Count(n, text.OneObject, text.Objects_) }

// arrayLabel returns the name of an array in words.
func arrayLabel(name string) string {
	return cmp.Or(text.OneOf[name], strings.ReplaceAll(name, "_", " "))
}
