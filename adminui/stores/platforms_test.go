package stores

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/publish"
)

func TestPlatformsWithoutALiveStoreAreFound(t *testing.T) {
	on := func(name string, state ui.State, remedy cause.Remedy, published *publish.Publication) visibility {
		return visibility{cause.Visibility{State: state, Remedy: remedy},
			cause.Platform{Platform: core.Platform{Name: name, ServedBy: "aggregator-a"}, Published: published}, nil}
	}
	names, wait := platformsNotLive([]visibility{
		on("live", ui.OK, cause.AtStore, &publish.Publication{State: publish.Published}),
		on("plugin down", ui.Err, cause.AtPlugin, nil),
		on("closed", ui.Err, cause.AtStore, nil),
		on("menu waits", ui.Warn, cause.AtSettings, &publish.Publication{State: publish.Waiting}),
		on("first menu under way", ui.Run, cause.AtStore, &publish.Publication{State: publish.Waiting}),
		on("item missing", ui.Warn, cause.AtItem, &publish.Publication{State: publish.Published})})
	require.Equal(t, []string{"plugin down", "menu waits", "first menu under way"}, names)
	require.Empty(t, wait)
	starting := on("first menu under way", ui.Run, cause.AtStore, &publish.Publication{State: publish.Waiting})
	names, wait = platformsNotLive([]visibility{starting})
	require.Len(t, names, 1)
	require.Equal(t, text.StoreFirstMenu, wait)
	_, wait = platformsNotLive(nil)
	require.Empty(t, wait)

	opening, failed := on("opening", ui.OK, cause.AtStore, nil), on("failed", ui.OK, cause.AtStore, nil)
	opening.unconfirmed = &cause.Switch{Cause: ui.Cause{State: ui.Wait}, Opens: true}
	failed.unconfirmed = &cause.Switch{Cause: ui.Cause{State: ui.Err}, Opens: true}
	closing := on("closing", ui.Err, cause.AtStore, nil)
	closing.unconfirmed = &cause.Switch{Cause: ui.Cause{State: ui.Err}}
	names, wait = platformsNotLive([]visibility{opening, closing})
	require.Equal(t, []string{"opening"}, names)
	require.Equal(t, text.StoreOpens, wait)
	for _, other := range []visibility{failed, starting} {
		names, wait = platformsNotLive([]visibility{opening, other})
		require.Len(t, names, 2)
		require.Empty(t, wait)
	}
}
