package menu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core"
)

// larder is the stored items of a business, and a platform that refuses salt.
type larder struct {
	items  []StoredItem
	found  map[string][]Finding
	stale  int // pages of which something changes meanwhile
	asked  []string
	err    error  // of an inspection
	late   string // an item at which the platform is late
	body   []byte // of the job
	result string
}

func (l *larder) ItemsAfter(_ context.Context, _ core.BusinessID, after int64, limit int) ([]StoredItem, error) {
	at := slices.IndexFunc(l.items, func(i StoredItem) bool { return i.Item.ID > after })
	if at < 0 {
		return nil, nil
	}
	return l.items[at:min(len(l.items), at+limit)], nil
}

func (l *larder) ReplaceFindings(_ context.Context, _ core.Job, _ string, items []StoredItem,
	findings map[string][]Finding, body []byte) (int, error) {
	if l.stale > 0 {
		l.stale--
		return 1, nil
	}
	for _, item := range items {
		l.found[item.Item.RefID] = findings[item.Item.RefID]
	}
	l.body = body
	return 0, nil
}

func (l *larder) EndRecheck(_ context.Context, _ core.Job, failure string, result []byte, _ int) error {
	l.result = failure + string(result)
	return nil
}

func (l *larder) Platforms(context.Context, core.BusinessID) ([]string, error) { return nil, nil }

func (l *larder) Inspect(_ context.Context, _ core.BusinessID, platform string,
	items []*Item) (map[string][]Finding, error) {
	found := map[string][]Finding{}
	for _, item := range items {
		if item.RefID == l.late {
			return nil, core.Errorf(core.Internal, "it did not answer in time")
		}
		l.asked = append(l.asked, item.RefID)
		if item.Title == "salt" {
			found[item.RefID] = []Finding{{Platform: platform, Rule: "salt", Message: "too salty"}}
		}
	}
	return found, l.err
}

func newLarder() *larder {
	l := &larder{found: map[string][]Finding{"b": {{Rule: "old"}}, "c": {{Rule: "old"}}}, body: []byte("{}")}
	for i, ref := range []string{"a", "b", "c"} {
		l.items = append(l.items,
			StoredItem{Item: Item{Ref: Ref{ID: int64(i + 1), RefID: ref}, Title: map[string]string{"a": "salt"}[ref]}})
	}
	l.items[2].Item.IncludedPlatforms = []byte(`["web"]`)
	return l
}

func (l *larder) recheck() error {
	r := Rechecker{Storage: l, Inspector: l, Clock: core.NewSystemClock(nil)}
	return r.Run(context.Background(), core.Job{Subject: "tasty", Body: l.body}, func(int, int) {})
}

func TestRecheckResumesAfterAPluginTimeout(t *testing.T) {
	l := newLarder()
	l.items = nil
	for i := range recheckPage + 1 {
		l.items = append(l.items,
			StoredItem{Item: Item{Ref: Ref{ID: int64(i + 1), RefID: fmt.Sprint(i)}, Title: "salt"}})
	}
	l.late = fmt.Sprint(recheckPage)
	require.ErrorContains(t, l.recheck(), "it did not answer in time",
		"such an attempt counts: it is not waited for without end")
	require.Len(t, l.asked, recheckPage)
	l.late, l.asked = "", nil
	require.NoError(t, l.recheck())
	require.Equal(t, []string{fmt.Sprint(recheckPage)}, l.asked)
	require.Equal(t, fmt.Sprintf(`{"items":%d,"items_with_findings":%[1]d}`, recheckPage+1), l.result)
}

func TestRecheckUpdatesTheFindings(t *testing.T) {
	l := newLarder()
	require.NoError(t, l.recheck())
	require.Equal(t, []string{"a", "b"}, l.asked, "what is not listed there is not asked about")
	require.Len(t, l.found["a"], 1)
	require.Empty(t, l.found["b"])
	require.Empty(t, l.found["c"])
	require.Equal(t, `{"items":3,"items_with_findings":1}`, l.result)

	l = newLarder()
	l.stale = 2
	require.NoError(t, l.recheck())
	require.Len(t, l.asked, 6, "what changed meanwhile is checked once more")
	require.Len(t, l.found["a"], 1)
}

func TestRecheckWaitsForPluginsAndClearsRemovedOnes(t *testing.T) {
	for _, c := range []struct {
		err   error
		waits bool
		fails bool
	}{
		{core.Errorf(core.Unavailable, "down"), true, false}, {core.Snooze{Until: time.Now()}, true, false},
		{core.Errorf(core.NotFound, "gone"), false, false}, {errors.New("broken"), false, true},
	} {
		l := newLarder()
		l.err = c.err
		err := l.recheck()
		var postponed core.Snooze
		require.Equal(t, c.waits, errors.As(err, &postponed), c.err)
		require.Equal(t, c.waits || c.fails, err != nil)
		require.Equal(t, !c.waits && !c.fails, len(l.found["b"]) == 0)
	}
}
