// Package outcomes applies the outcomes that aggregators report after their responses.
package outcomes

import (
	"context"
	"errors"
	"slices"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/internal/postgres"
	"github.com/servery-hub/servery/core/internal/postgres/calls"
	"github.com/servery-hub/servery/core/internal/postgres/publications"
	"github.com/servery-hub/servery/core/internal/postgres/tasks"
	"github.com/servery-hub/servery/core/outcome"
)

// Store applies outcomes to menus and calls.
type Store struct {
	db    *postgres.DB
	calls calls.Store
	count func(kind string, effect outcome.Effect)
}

// New returns a Store that uses db. count gets the effect of each report.
func New(db *postgres.DB, calls calls.Store, count func(kind string, effect outcome.Effect)) Store {
	return Store{db, calls, count}
}

// maxLookups bounds how often a task is looked up that another transaction stores meanwhile.
const maxLookups = 3

// Sweep fails the calls whose outcome is overdue, and deletes what is no longer needed. Overdue menus are work of their
// queue. Any replica may call it.
func (s Store) Sweep(ctx context.Context) error {
	expired, err := s.calls.Expire(ctx)
	for kind, n := range expired {
		for range n {
			s.count(string(kind), outcome.Effect(tasks.Expired))
		}
	}
	return errors.Join(err, tasks.DeleteExpired(ctx, s.db))
}

var errNoTask = core.Errorf(core.NotFound, "the outcome belongs to no request that is pending for this store")

var errSending = &core.Error{Code: core.Unavailable, RetryAfter: publications.BusyPause,
	Message: "the hub is sending a request of this kind: resend the outcome later"}

var errNoStore = core.Errorf(core.Invalid, "the outcome names neither a task nor a store")

// Settle applies a report of a platform. It stores the report of a task that is not known yet. It returns NotFound if
// a report without a reference belongs to no request, and Unavailable if the aggregator must repeat it.
func (s Store) Settle(ctx context.Context, business core.BusinessID, platform string,
	r outcome.Report) (outcome.Effect, error) {
	if r.Reference == "" && (r.Kind == "" || r.StoreRefID == "") {
		return "", errNoStore
	}
	kind, effect, err := s.settle(ctx, business, platform, r)
	if err == nil {
		s.count(kind, effect)
	}
	return effect, err
}

func (s Store) settle(ctx context.Context, business core.BusinessID, platform string,
	r outcome.Report) (kind string, effect outcome.Effect, err error) {
	for range maxLookups {
		sending := false
		if r.Reference == "" { // before the lookup: a request is stored as pending when its lease ends
			if sending, err = tasks.Sending(ctx, s.db, business, platform, r); err != nil {
				return "", "", err
			}
		}
		task, state, known, err := tasks.Find(ctx, s.db.Bun(), business, platform, r)
		switch {
		case err != nil:
			return "", "", err
		case sending && state != outcome.Pending:
			return "", "", errSending
		case known:
			effect, err := s.apply(ctx, task, state, r)
			return task.Kind, effect, err
		case r.Reference == "":
			return "", "", errNoTask
		case r.State == outcome.Pending:
			return "", outcome.Nothing, nil
		}
		kept, err := tasks.KeepEarly(ctx, s.db, business, platform, r)
		if err != nil || kept {
			return "", outcome.Early, err
		}
	}
	return "", "", core.Errorf(core.Unavailable, "the request of this outcome is being stored: resend it later")
}

// apply applies a report to a known task.
func (s Store) apply(ctx context.Context, task outcome.Task, state outcome.State,
	r outcome.Report) (outcome.Effect, error) {
	late := state == tasks.Superseded || state == tasks.Expired
	if late && task.Kind == outcome.Menu && r.State == outcome.Done {
		if err := publications.New(s.db).Relisted(ctx, task); err != nil {
			return "", err
		}
	}
	switch {
	case state == tasks.Superseded:
		return outcome.Superseded, nil
	case state != outcome.Pending:
		return outcome.Repeated, nil
	case !slices.Contains([]outcome.State{outcome.Done, outcome.Failed, outcome.Retry}, r.State):
		return outcome.Nothing, nil
	case task.Kind == outcome.Menu:
		return publications.New(s.db).Settle(ctx, task, r)
	}
	return s.calls.Settle(ctx, task, r)
}
