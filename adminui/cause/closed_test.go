package cause

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/store"
)

func TestAStoreThatWasClosedOnPlatformsSaysByWhomAndUntilWhen(t *testing.T) {
	noon := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s := store.Stored{Object: store.Object{ExcludedPlatforms: []string{}}, ClosedOn: []store.Closing{
		{Platform: "app", Actor: "hub", Reason: "the POS is silent", Since: noon.UnixMilli()},
		{Platform: "web", Actor: "key:pos", Since: noon.UnixMilli(), TurnOnAt: noon.Add(time.Hour).UnixMilli()},
	}}
	for platform, why := range map[string]string{
		"app":   "closed on this platform by hub (the POS is silent) since 2026-11-23 12:00",
		"web":   "closed on this platform by key:pos since 2026-11-23 12:00, opens by itself at 2026-11-23 13:00",
		"tasty": "",
	} {
		_, told := StoreOn(s, platform, noon)
		require.Equal(t, why, told)
	}
	require.Equal(t, ui.Warn, Store(s, []string{"app", "tasty", "web"}, nil, noon).State)
	require.Contains(t, Store(s, []string{"app", "tasty", "web"}, nil, noon).Text, "on tasty.")
	require.Equal(t, ui.Err, Store(s, []string{"app", "web"}, nil, noon).State)
}
