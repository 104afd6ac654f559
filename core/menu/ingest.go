package menu

import (
	"context"
	"fmt"
	"net/url"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
)

// Storage stores menus.
type Storage interface {
	// ResolveLocation returns the business and the scope of a location_ref_id. It returns NotFound if the business has
	// no such store.
	ResolveLocation(ctx context.Context, business core.BusinessID, location string) (core.Business, Scope, error)
	// LoadState reads the state that a request depends on, to preview its effect.
	LoadState(ctx context.Context, business core.BusinessID, scope Scope, needs ReadSet) (State, error)
	// Menu returns the whole menu of a business: the catalogue, and for a store its values.
	Menu(ctx context.Context, business core.BusinessID, store int64) (Menu, error)
	// Ingest ends the job in one transaction. It reads the state that the request needs and calls decide for the plan.
	// Then it writes plan, event and outcome. It writes nothing and returns Conflict if the job's lease is lost.
	Ingest(ctx context.Context, job core.Job, needs IngestNeeds,
		decide func(state State, newID func() int64) (IngestResult, error)) error
}

// IngestNeeds is what a menu job reads: a location, and the state that its request depends on.
type IngestNeeds struct {
	Scope   Scope
	Read    ReadSet
	Objects int // of the request
}

// IngestResult is the result of a job.
type IngestResult struct {
	Plan    *Plan       // nil: nothing is written
	Event   *core.Event // nil: no event
	Result  []byte      // JSON, stored with the job
	Failure string      // why the job failed as a whole; "" if it did not

	// CancelledTimers lists items and options whose availability a store's request sets. Their timers are cancelled.
	CancelledTimers      PerKind[[]string]
	InspectedPlatforms   []string       // the platforms whose rules were applied
	Findings             []ItemFindings // their findings for the items, which replace the earlier ones
	OtherPlatforms       []string       // the platforms that also checked what OtherFindings are about
	OtherFindings        []ItemFindings // of items whose context the request changes, and of its store
	UninspectedPlatforms []string       // the platforms whose rules must still be applied
}

// IngestPolicy holds the settings for menu requests of every business.
type IngestPolicy struct {
	Vocabulary VocabularySource // nil: no key-value groups
	FlushGuard int              // see Rules
}

// VocabularySource returns the vocabulary that counts now. It is called for each request.
type VocabularySource interface{ Vocabulary() *Vocabulary }

// RulesFor returns the rules of a business.
func (p IngestPolicy) RulesFor(business core.Business) Rules {
	rules := Rules{Country: business.Country, Currency: business.Currency, FlushGuard: p.FlushGuard}
	if p.Vocabulary != nil {
		rules.Vocabulary = p.Vocabulary.Vocabulary()
	}
	return rules
}

// Ingestor runs the jobs of menu requests.
type Ingestor struct {
	Storage         Storage
	Policy          IngestPolicy
	Inspector       Inspector // nil: no platform has rules
	RollbackStorage RollbackStorage
	Clock           core.Clock
}

// Run executes a menu request, or a dry run (job.Handler).
func (i Ingestor) Run(ctx context.Context, job core.Job, report func(done, total int)) error {
	if to, ok := rollbackOf(job); ok {
		return i.rollBack(ctx, job, to)
	}
	return i.execute(ctx, job, report,
		func(request Request, state State, inspection Inspection, newID func() int64) (IngestResult, error) {
			later := request.applyLaterAvailability(state.LaterAvailability)
			plan := Decide(request, state, newID)
			plan.Warnings = append(plan.Warnings, later...)
			if job.DryRun {
				result, err := json.Marshal(NewPreview(request, state, plan), json.Deterministic(true))
				return IngestResult{Result: result}, err
			}
			plan.Warnings = append(plan.Warnings, inspection.Warnings...)
			return i.outcome(job, request, &plan, inspection, "")
		})
}

// Fail ends a menu request that could not be executed. It writes nothing, and the callback reports every object as
// failed (job.Handler). It does not check the request, because a violation may be the cause.
func (i Ingestor) Fail(ctx context.Context, job core.Job, cause error) error {
	if _, ok := rollbackOf(job); ok {
		return i.failRollBack(ctx, job, cause)
	}
	_, scope, err := i.Storage.ResolveLocation(ctx, job.Business, job.Subject)
	if err != nil {
		return err
	}
	request, err := decodeUnchecked(job.Body, scope)
	if err != nil {
		return core.UnreadableRequest(err)
	}
	return i.Storage.Ingest(ctx, job, IngestNeeds{scope, request.namedReadSet(), request.Objects()},
		func(state State, _ func() int64) (IngestResult, error) {
			if job.DryRun {
				return IngestResult{Failure: cause.Error(), Result: []byte("{}")}, nil
			}
			plan := Failed(request, state, core.UnprocessedRequest(job.ID))
			return i.outcome(job, request, &plan, Inspection{}, cause.Error())
		})
}

func (i Ingestor) execute(ctx context.Context, job core.Job, report func(done, total int),
	decide func(Request, State, Inspection, func() int64) (IngestResult, error),
) error {
	business, scope, err := i.Storage.ResolveLocation(ctx, job.Business, job.Subject)
	if err != nil {
		return err
	}
	request, err := Decode(job.Body, scope, i.Policy.RulesFor(business))
	if err != nil {
		return core.UnreadableRequest(err)
	}
	objects := request.Objects()
	report(0, objects)
	inspection, err := i.inspect(ctx, job, scope, request)
	if err != nil {
		return err
	}
	err = i.Storage.Ingest(ctx, job, IngestNeeds{scope, request.ReadSet(), objects},
		func(state State, newID func() int64) (IngestResult, error) {
			return decide(request, state, inspection, newID)
		})
	if err == nil {
		report(objects, objects)
	}
	return err
}

// outcome returns the result of a plan: what is written, and the event.
func (i Ingestor) outcome(job core.Job, request Request, plan *Plan, inspection Inspection,
	failure string) (IngestResult, error) {
	byIndex, byItem := inspection.forRequest(request, plan)
	plan.StoreFindings = inspection.storeFindings(request.Scope)
	body, err := Callback(job.ID, request, *plan, byIndex)
	if err != nil {
		return IngestResult{}, fmt.Errorf("encoding the callback: %w", err)
	}
	result, err := json.Marshal(plan.summary(request), json.Deterministic(true))
	if err != nil {
		return IngestResult{}, fmt.Errorf("encoding the result: %w", err)
	}
	now := i.Clock.Now()
	return IngestResult{
		Plan: plan, Result: result, Failure: failure, CancelledTimers: request.cancelledTimers(plan),
		InspectedPlatforms: inspection.Platforms, Findings: byItem, UninspectedPlatforms: inspection.Uninspected,
		OtherPlatforms: inspection.OtherRules, OtherFindings: inspection.Others,
		Event: &core.Event{
			ID: core.NewID(now), Business: job.Business, Type: core.InventoryUpdate, At: now,
			Body: body, Reference: job.ID.String(), CallbackURL: job.CallbackURL,
		},
	}, nil
}

// cancelledTimers returns the ref_ids of items and options whose availability this request determines. It omits those
// whose availability changed later.
func (r *Request) cancelledTimers(plan *Plan) (refs PerKind[[]string]) {
	if r.Scope.Master() {
		return refs
	}
	for i := range r.Items {
		if o := &r.Items[i].Object; r.setsAvailability(Items, o.RefID, o.Available, plan.Outcomes[Items][i]) {
			refs[Items] = append(refs[Items], *o.RefID)
		}
	}
	for i := range r.Options {
		if o := &r.Options[i].Object; r.setsAvailability(Options, o.RefID, o.Available, plan.Outcomes[Options][i]) {
			refs[Options] = append(refs[Options], *o.RefID)
		}
	}
	return refs
}

func (r *Request) setsAvailability(kind Kind, refID *string, available *bool, outcome Outcome) bool {
	if available == nil || outcome.Message != "" {
		return false
	}
	_, later := r.laterAvailability[kind][*refID]
	return !later
}

// summary returns the result that is stored with a plan's job.
func (p *Plan) summary(request Request) any {
	stats := map[string]Stats{}
	for _, kind := range Kinds() {
		if len(p.Outcomes[kind]) > 0 || p.Stats[kind] != (Stats{}) {
			stats[kind.String()] = p.Stats[kind]
		}
	}
	if p.TimingStats != (Stats{}) {
		stats[TimingsEntity] = p.TimingStats
	}
	return struct {
		Stats    map[string]Stats    `json:"stats"`
		Warnings []Warning           `json:"warnings,omitzero"`
		Failed   []core.FailedObject `json:"failed,omitzero"`
	}{stats, p.allWarnings(), p.failed(request)}
}

// failed returns the first objects that were not applied.
func (p *Plan) failed(request Request) (list []core.FailedObject) {
	keys := request.identities()
	for _, kind := range Kinds() {
		for i, outcome := range p.Outcomes[kind] {
			if outcome.Message != "" && len(list) < core.MaxFailedObjects {
				list = append(list, core.FailedObject{Entity: kind.String(), RefID: keys[kind][i],
					Message: outcome.Message})
			}
		}
	}
	return list
}

// Objects returns the number of submitted objects.
func (r *Request) Objects() int {
	n := 0
	for _, raws := range r.raws() {
		n += len(raws)
	}
	return n
}

// StaleMenus returns the stores whose cached menus are outdated: 0 for the master catalogue, and the addressed store if
// its references change.
func (p *Plan) StaleMenus() []int64 {
	var stores []int64
	atStore := len(p.Store.Categories) + len(p.Store.Items) + len(p.Store.Options)
	for kind := range p.Store.Removed {
		atStore += len(p.Store.Removed[kind])
	}
	catalogue := *p
	catalogue.Store = StoreChange{}
	if catalogue.HasChanges() {
		stores = append(stores, 0)
	}
	if atStore > 0 && p.Scope.StoreID != 0 {
		stores = append(stores, p.Scope.StoreID)
	}
	return stores
}

// Versions identifies the content of an effective menu: as long as it is equal, so is the menu.
type Versions struct {
	Epoch     string // of the database: one that lost transactions uses versions again
	StoreID   int64
	Platform  core.Platform
	Catalogue int64  // of the master catalogue
	Store     int64  // of the store's values
	Open      bool   // the store takes orders on the platform
	Timings   string // which category timings are open now
}

// RenderVersion is the version of the rendering of effective menus, for customers and plugins. A change of it
// invalidates caches and republishes menus.
const RenderVersion = 4

// ETag returns the entity tag (RFC 9110, section 8.8.3) of the effective menu.
func (v Versions) ETag() string {
	return fmt.Sprintf(`"%d-%s-%d-%d-%d-%t-%s-%s-%s"`, RenderVersion, url.QueryEscape(v.Epoch), v.StoreID, v.Catalogue,
		v.Store, v.Open, url.QueryEscape(v.Platform.Name), url.QueryEscape(v.Platform.ServedBy), v.Timings)
}
