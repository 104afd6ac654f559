package store

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
)

// localTime parses a time. The date 2026-11-23 is a Monday.
func localTime(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04:05", text)
	require.NoError(t, err)
	return at
}

func TestOpeningHoursDecideWhetherAStoreIsOpen(t *testing.T) {
	week := []Timing{
		{Day: "monday", Slots: []core.HoursSlot{{StartTime: "10:00:00", EndTime: "14:00:00"},
			{StartTime: "22:00:00", EndTime: "02:00:00"}}},
		{Day: "wednesday", Slots: []core.HoursSlot{{StartTime: "00:00:00", EndTime: "23:59:59"}}},
		{Day: "friday"},
	}
	sunday := []Timing{{Day: "sunday", Slots: []core.HoursSlot{{StartTime: "23:00:00", EndTime: "01:00:00"}}}}
	for _, c := range []struct {
		name    string
		timings []Timing
		at      string
		open    bool
	}{
		{"without opening hours", nil, "2026-11-23 04:00:00", true},
		{"an empty list", []Timing{}, "2026-11-23 04:00:00", true},
		{"before", week, "2026-11-23 09:59:59", false},
		{"at the start", week, "2026-11-23 10:00:00", true},
		{"at the last second", week, "2026-11-23 13:59:59", true},
		{"at the end", week, "2026-11-23 14:00:00", false},
		{"in the evening", week, "2026-11-23 23:30:00", true},
		{"past midnight", week, "2026-11-24 01:59:59", true},
		{"past the end after midnight", week, "2026-11-24 02:00:00", false},
		{"the night before its day", week, "2026-11-23 01:00:00", false},
		{"an unlisted weekday", week, "2026-11-26 12:00:00", false},
		{"a weekday without slots", week, "2026-11-27 12:00:00", false},
		{"a whole day, at midnight", week, "2026-11-25 00:00:00", true},
		{"a whole day, at its last second", week, "2026-11-25 23:59:59", true},
		{"after a whole day", week, "2026-11-26 00:00:00", false},
		{"from Sunday into Monday", sunday, "2026-11-23 00:30:00", true},
	} {
		open, _ := core.OpeningHours{Week: c.timings}.OpenAt(localTime(t, c.at))
		require.Equal(t, c.open, open, c.name)
	}
}

func TestStoreIsOpenExactlyDuringItsSlot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start, length := rapid.IntRange(0, 86399).Draw(t, "start"), rapid.IntRange(1, 86399).Draw(t, "length")
		if (start+length)%86400 == 86399 {
			length-- // 23:59:59 stands for midnight
		}
		if length == 0 {
			return
		}
		clock := func(s int) string { return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60) }
		timings := []Timing{{Day: "monday",
			Slots: []core.HoursSlot{{StartTime: clock(start), EndTime: clock((start + length) % 86400)}}}}
		offset := rapid.IntRange(0, 7*86400-1).Draw(t, "offset")
		monday := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
		open, ago := core.OpeningHours{Week: timings}.OpenAt(monday.Add(time.Duration(offset) * time.Second))
		require.Equal(t, offset >= start && offset < start+length, open)
		if open {
			require.Equal(t, time.Duration(offset-start)*time.Second, ago)
		}
	})
}

func TestZipCodesApplyOnlyToOwnPlatforms(t *testing.T) {
	own, plugin := core.Platform{ServedBy: core.ServedByMerchant}, core.Platform{ServedBy: "aggregator-a"}
	require.False(t, StoreContext{}.UsesZipCodes(own))
	require.True(t, StoreContext{ZipCodes: true}.UsesZipCodes(own))
	require.False(t, StoreContext{ZipCodes: true}.UsesZipCodes(plugin))
	require.True(t, DeliversTo([]string{"10001", "SW1A 1AA"}, "sw1a1aa"))
	require.False(t, DeliversTo([]string{"10001"}, "1000"))
	require.False(t, DeliversTo(nil, "10001"))
}

// memoryReader is a Reader in memory.
type memoryReader struct {
	state      StoreContext
	stores     []Stored
	storeBytes int64 // of each
}

func (r memoryReader) StoreContext(context.Context, core.BusinessID) (StoreContext, error) {
	return r.state, nil
}

func (r memoryReader) Get(context.Context, core.BusinessID, string) (Stored, error) {
	return Stored{}, core.Errorf(core.NotFound, "no store")
}

func (r memoryReader) Page(_ context.Context, _ core.BusinessID, after string, limit int) (Page, error) {
	rest := slices.DeleteFunc(slices.Clone(r.stores), func(s Stored) bool { return *s.RefID <= after })
	n := min(limit, len(rest))
	if r.storeBytes > 0 {
		n = min(n, int((MaxPageBytes-1)/r.storeBytes+1))
	}
	return Page{rest[:n], int64(n) * r.storeBytes, n < len(rest)}, nil
}

func TestStoreListReadsEveryPage(t *testing.T) {
	reader := memoryReader{state: StoreContext{Timezone: "UTC", ZipCodes: true,
		Platforms: []core.Platform{{Name: "web", ServedBy: core.ServedByMerchant}}}}
	yes, no, name := true, false, "N"
	for n := range 2*pageSize + 7 {
		ref := fmt.Sprintf("s%05d", n)
		object := Object{RefID: &ref, Name: &name, City: &name, HideFromUI: &no, Active: &yes, OrderingEnabled: &yes,
			IncludedPlatforms: []string{}}
		if n%100 == 3 {
			object.IncludedPlatforms, object.ZipCodes = []string{"web"}, []string{"1"}
		}
		reader.stores = append(reader.stores, Stored{ID: int64(n + 1), Object: object})
	}
	view := ChannelStoreView{Reader: reader, Clock: core.NewSystemClock(nil)}
	list, err := view.List(context.Background(), 1, Query{Platform: "web", ZipCode: "1", Limit: 1000})
	require.NoError(t, err)
	require.True(t, list.ByZipCodes)
	require.Len(t, list.Stores, 11)
	require.Empty(t, list.Next)
	require.Equal(t, []string{"web"}, list.Stores[0].Platforms)
	after := list.Stores[9].RefID
	list, err = view.List(context.Background(), 1, Query{Platform: "web", Limit: 10})
	require.NoError(t, err)
	require.Len(t, list.Stores, 10)
	require.Equal(t, after, list.Next)
	list, err = view.List(context.Background(), 1, Query{After: after, Platform: "web", Limit: 1})
	require.NoError(t, err)
	require.Len(t, list.Stores, 1)
	require.Empty(t, list.Next)
	list, err = view.List(context.Background(), 1, Query{Limit: 5})
	require.NoError(t, err)
	require.Len(t, list.Stores, 5)
	require.Equal(t, "s00004", list.Next)
	_, err = view.List(context.Background(), 1, Query{Platform: "mars", Limit: 5})
	require.Equal(t, core.NotFound, core.CodeOf(err))
}

func TestStoreListEndsAfterItsBytes(t *testing.T) {
	reader := memoryReader{state: StoreContext{Timezone: "UTC",
		Platforms: []core.Platform{{Name: "web", ServedBy: core.ServedByMerchant}}}, storeBytes: 1 << 20}
	yes, no, name := true, false, "N"
	for n := range 40 {
		ref := fmt.Sprintf("s%05d", n)
		object := Object{RefID: &ref, Name: &name, City: &name, HideFromUI: &no, Active: &yes, OrderingEnabled: &yes,
			IncludedPlatforms: []string{}}
		if n >= 20 {
			object.IncludedPlatforms = []string{"web"}
		}
		reader.stores = append(reader.stores, Stored{ID: int64(n + 1), Object: object})
	}
	view := ChannelStoreView{Reader: reader, Clock: core.NewSystemClock(nil)}
	seen, pages := 0, 0
	for query := (Query{Platform: "web", Limit: 1000}); pages == 0 || query.After != ""; pages++ {
		list, err := view.List(t.Context(), 1, query)
		require.NoError(t, err)
		require.NotEmpty(t, list.Stores)
		require.LessOrEqual(t, len(list.Stores), 4)
		seen, query.After = seen+len(list.Stores), list.Next
	}
	require.Equal(t, 20, seen)
	require.Equal(t, 5, pages)
}

func TestInactiveStoreTakesNoOrders(t *testing.T) {
	yes, no, name := true, false, "N"
	reader := memoryReader{state: StoreContext{Timezone: "UTC",
		Platforms: []core.Platform{{Name: "web", ServedBy: core.ServedByMerchant}}}}
	for _, c := range []struct {
		ref              string
		active, ordering *bool
		closed           []PlatformClosure
	}{{"closed", &yes, &yes, []PlatformClosure{{Platform: "web"}}}, {"inactive", &no, &yes, nil},
		{"no orders", &yes, &no, nil}, {"open", &yes, &yes, nil}} {
		reader.stores = append(reader.stores, Stored{ClosedOn: c.closed, Object: Object{RefID: &c.ref, Name: &name,
			City: &name, HideFromUI: &no, Active: c.active, OrderingEnabled: c.ordering,
			IncludedPlatforms: []string{"web"}}})
	}
	view := ChannelStoreView{Reader: reader, Clock: core.NewSystemClock(nil)}
	for platform, want := range map[string][]bool{"web": {false, false, false, true}, "": {true, false, false, true}} {
		list, err := view.List(t.Context(), 1, Query{Platform: platform, Limit: 9})
		require.NoError(t, err)
		var takes []bool
		for _, store := range list.Stores {
			takes = append(takes, store.OrderingEnabled)
		}
		require.Equal(t, want, takes, "platform %q", platform)
	}
}
