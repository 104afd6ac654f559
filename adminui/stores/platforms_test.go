package stores

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/publish"
)

func TestPlatformsWithoutALiveStoreAreFound(t *testing.T) {
	on := func(name string, state ui.State, remedy cause.Remedy, published *publish.Publication) visibility {
		return visibility{cause.Visibility{State: state, Remedy: remedy},
			cause.Platform{Platform: core.Platform{Name: name, ServedBy: "aggregator-a"}, Published: published}}
	}
	names, starting := platformsNotLive([]visibility{
		on("live", ui.OK, cause.AtStore, &publish.Publication{State: publish.Published}),
		on("plugin down", ui.Err, cause.AtPlugin, nil),
		on("closed", ui.Err, cause.AtStore, nil),
		on("menu waits", ui.Warn, cause.AtSettings, &publish.Publication{State: publish.Waiting}),
		on("first menu under way", ui.Run, cause.AtStore, &publish.Publication{State: publish.Waiting}),
		on("item missing", ui.Warn, cause.AtItem, &publish.Publication{State: publish.Published})})
	require.Equal(t, []string{"plugin down", "menu waits", "first menu under way"}, names)
	require.False(t, starting)
	names, starting = platformsNotLive([]visibility{
		on("first menu under way", ui.Run, cause.AtStore, &publish.Publication{State: publish.Waiting})})
	require.Len(t, names, 1)
	require.True(t, starting)
	_, starting = platformsNotLive(nil)
	require.False(t, starting)
}
