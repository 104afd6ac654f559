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

// recheckFake holds the stored items of a business, and is a platform that rejects salt.
type recheckFake struct {
	items  []StoredItem
	found  map[string][]Finding
	stale  int  // pages with items that change meanwhile
	busy   bool // the catalogue changes all the time, and findings depend on it
	asked  []string
	err    error  // of an inspection
	late   string // an item for which the platform responds too late
	body   []byte // of the job
	result string
}

func (f *recheckFake) ItemsAfter(_ context.Context, _ core.BusinessID, after int64, limit int) ([]StoredItem, error) {
	at := slices.IndexFunc(f.items, func(i StoredItem) bool { return i.Item.ID > after })
	if at < 0 {
		return nil, nil
	}
	return f.items[at:min(len(f.items), at+limit)], nil
}

func (f *recheckFake) CatalogueVersion(context.Context, core.BusinessID) (int64, error) {
	return 1, nil
}

func (f *recheckFake) ReplaceFindings(_ context.Context, _ core.Job, page CheckedItems, body []byte) (int, error) {
	if f.stale > 0 {
		f.stale--
		return 1, nil
	}
	if f.busy && page.Version != 0 {
		return len(page.Items), nil
	}
	for _, item := range page.Items {
		f.found[item.Item.RefID] = page.Findings[item.Item.RefID]
	}
	f.body = body
	return 0, nil
}

func (f *recheckFake) EndRecheck(_ context.Context, _ core.Job, failure string, result []byte, _ int) error {
	f.result = failure + string(result)
	return nil
}

func (f *recheckFake) Platforms(context.Context, core.BusinessID) ([]RulePlatform, error) {
	return []RulePlatform{{Name: "tasty", Context: f.busy}}, nil
}

func (f *recheckFake) StoresAfter(context.Context, core.BusinessID, StorePage) ([]StoredStore, error) {
	return nil, nil
}

func (f *recheckFake) ReplaceStoreFindings(context.Context, core.Job, []StoredStore, Found, []byte) error {
	return nil
}

func (f *recheckFake) Menu(context.Context, core.BusinessID, int64) (Menu, error) { return Menu{}, nil }

func (f *recheckFake) Inspect(_ context.Context, _ core.BusinessID, platform string,
	check Check) (Found, error) {
	found := Found{}
	for _, item := range check.Items {
		if item.RefID == f.late {
			return nil, core.Errorf(core.Internal, "it did not answer in time")
		}
		f.asked = append(f.asked, item.RefID)
		if item.Title == "salt" {
			found[FoundObject{FoundItem, item.RefID}] = []Finding{{Platform: platform, Rule: "salt"}}
		}
	}
	return found, f.err
}

func newRecheckFake() *recheckFake {
	f := &recheckFake{found: map[string][]Finding{"b": {{Rule: "old"}}, "c": {{Rule: "old"}}}, body: []byte("{}")}
	for i, ref := range []string{"a", "b", "c"} {
		f.items = append(f.items,
			StoredItem{Item: Item{Ref: Ref{ID: int64(i + 1), RefID: ref},
				ItemDetails: ItemDetails{Title: map[string]string{"a": "salt"}[ref]}}})
	}
	f.items[2].Item.IncludedPlatforms = []byte(`["web"]`)
	return f
}

func (f *recheckFake) recheck() error {
	r := Rechecker{Storage: f, Inspector: f, Clock: core.NewSystemClock(nil)}
	return r.Run(context.Background(), core.Job{Subject: "tasty", Body: f.body}, func(int, int) {})
}

func TestRecheckResumesAfterAPluginTimeout(t *testing.T) {
	f := newRecheckFake()
	f.items = nil
	for i := range recheckPage + 1 {
		f.items = append(f.items,
			StoredItem{Item: Item{Ref: Ref{ID: int64(i + 1), RefID: fmt.Sprint(i)},
				ItemDetails: ItemDetails{Title: "salt"}}})
	}
	f.late = fmt.Sprint(recheckPage)
	require.ErrorContains(t, f.recheck(), "it did not answer in time",
		"such an attempt counts: it is not waited for without end")
	require.Len(t, f.asked, recheckPage)
	f.late, f.asked = "", nil
	require.NoError(t, f.recheck())
	require.Equal(t, []string{fmt.Sprint(recheckPage)}, f.asked)
	require.Equal(t, fmt.Sprintf(`{"items":%d,"items_with_findings":%[1]d}`, recheckPage+1), f.result)
}

func TestRecheckUpdatesTheFindings(t *testing.T) {
	f := newRecheckFake()
	require.NoError(t, f.recheck())
	require.Equal(t, []string{"a", "b"}, f.asked, "what is not listed there is not asked about")
	require.Len(t, f.found["a"], 1)
	require.Empty(t, f.found["b"])
	require.Empty(t, f.found["c"])
	require.Equal(t, `{"items":3,"items_with_findings":1}`, f.result)

	f = newRecheckFake()
	f.stale = 2
	require.NoError(t, f.recheck())
	require.Len(t, f.asked, 6, "what changed meanwhile is checked once more")
	require.Len(t, f.found["a"], 1)

	f = newRecheckFake()
	f.busy = true
	require.NoError(t, f.recheck())
	require.Empty(t, f.found["b"], "findings about a catalogue that always changes are stored")
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
		f := newRecheckFake()
		f.err = c.err
		err := f.recheck()
		var postponed core.Snooze
		require.Equal(t, c.waits, errors.As(err, &postponed), c.err)
		require.Equal(t, c.waits || c.fails, err != nil)
		require.Equal(t, !c.waits && !c.fails, len(f.found["b"]) == 0)
	}
}
