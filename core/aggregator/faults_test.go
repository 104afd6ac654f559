package aggregator

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/pluginhost"
	"github.com/servery-hub/servery/core/publish"
)

// fakeFaults is Reports whose first report of faults fails, while another fault is recorded.
type fakeFaults struct {
	Reports
	during   func()
	reported []FaultCount
}

// RecordFaults stores the faults (Reports).
func (r *fakeFaults) RecordFaults(_ context.Context, list []FaultCount) error {
	if r.during != nil {
		r.during()
		r.during = nil
		return errors.New("the database is unavailable")
	}
	r.reported = list
	return nil
}

func TestFaultsOfAFailedReportKeepTheirStart(t *testing.T) {
	reports, at := &fakeFaults{}, time.Now()
	journal := &faultJournal{reports: reports, counts: map[faultCause]FaultCount{}}
	record := func(about string, after time.Duration) {
		journal.RecordFault(pluginhost.FaultReport{Plugin: "tasty", Group: "a", About: about, At: at.Add(after)})
	}
	record("order 1", 0)
	reports.during = func() { record("order 2", time.Minute) }
	require.Error(t, journal.flush(t.Context()))
	require.NoError(t, journal.flush(t.Context()))
	require.Len(t, reports.reported, 1)
	fault := reports.reported[0]
	require.Equal(t, []any{int64(2), at, at.Add(time.Minute), "order 2"},
		[]any{fault.Count, fault.First, fault.At, fault.About})
}

func TestEachPublicationHasItsResponseRequest(t *testing.T) {
	one := publication{work: publish.Work{CallID: core.NewID(time.Now())}}
	other := publication{work: publish.Work{CallID: core.NewID(time.Now())}}
	require.NotEmpty(t, one.responseSubject().Request)
	require.NotEqual(t, one.responseSubject().Request, other.responseSubject().Request)
	require.Empty(t, one.subject.Request, "the menu identifies its rendering")
}
