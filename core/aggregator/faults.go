package aggregator

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/servery-hub/servery/core/pluginhost"
)

// FaultCount is the latest of several faults with the same cause.
type FaultCount struct {
	pluginhost.FaultReport
	Count int64
	First time.Time
}

// faultJournal collects faults for the next report, and passes on the requests that are set aside (pluginhost.Journal).
type faultJournal struct {
	reports Reports

	mu     sync.Mutex
	counts map[faultCause]FaultCount
}

type faultCause struct{ plugin, group string }

// maxFaultCauses bounds the causes that wait for the next report.
const maxFaultCauses = 1000

// RecordFault counts a fault (pluginhost.Journal).
func (j *faultJournal) RecordFault(f pluginhost.FaultReport) {
	j.add(FaultCount{FaultReport: f, Count: 1, First: f.At})
}

func (j *faultJournal) add(f FaultCount) {
	j.mu.Lock()
	defer j.mu.Unlock()
	cause := faultCause{f.Plugin, f.Group}
	if known, counted := j.counts[cause]; counted {
		f.Count += known.Count
		if known.First.Before(f.First) {
			f.First = known.First
		}
		if known.At.After(f.At) {
			f.FaultReport = known.FaultReport
		}
	} else if len(j.counts) == maxFaultCauses {
		return
	}
	j.counts[cause] = f
}

// SetAside stores a request (pluginhost.Journal).
func (j *faultJournal) SetAside(ctx context.Context, r pluginhost.SetAside) error {
	return j.reports.SetAside(ctx, r)
}

// IsSetAside reads whether a request is set aside (pluginhost.Journal).
func (j *faultJournal) IsSetAside(ctx context.Context, r pluginhost.Request) (bool, error) {
	return j.reports.IsSetAside(ctx, r)
}

// flush reports the collected faults. After an error they wait for the next report.
func (j *faultJournal) flush(ctx context.Context) error {
	j.mu.Lock()
	list := make([]FaultCount, 0, len(j.counts))
	for _, f := range j.counts {
		list = append(list, f)
	}
	clear(j.counts)
	j.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b FaultCount) int {
		return cmp.Or(cmp.Compare(a.Plugin, b.Plugin), cmp.Compare(a.Group, b.Group))
	})
	err := j.reports.RecordFaults(ctx, list)
	if err != nil {
		for _, f := range list {
			j.add(f)
		}
	}
	return err
}
