package aggregator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/plugins/sdk"
)

func TestRepeatedPlatformRejectionsAreRecordedOnce(t *testing.T) {
	says := func(entity, id, message string) *sdk.PublishError {
		return &sdk.PublishError{Entity: entity, RefId: id, Message: message}
	}
	got := rejections([]string{"i1", "i2", "both"}, []string{"o1", "both"}, []*sdk.PublishError{
		says("item", "of-somebody-else", "?"), says("item", "i1", "not on sale"), says("item", "i1", "no picture"),
		says("item", "i2", "unknown"),
		says("item", "o1", "unknown"), says("option", "o1", "again"), says("option", "both", "closed"),
		says("item", "both", "closed"), says("option", "i2", "?"), says("", "", "?"),
	})
	require.Equal(t, []relay.Rejection{
		{Entity: "item", RefID: "i1", Message: "not on sale"}, {Entity: "item", RefID: "i2", Message: "unknown"},
		{Entity: "item", RefID: "o1", Message: "unknown"},
		{Entity: "option", RefID: "both", Message: "closed"}, {Entity: "item", RefID: "both", Message: "closed"},
	}, got)
}
