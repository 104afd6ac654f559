package relay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/outcome"
)

func TestRepeatedPlatformRejectionsAreRecordedOnce(t *testing.T) {
	says := func(entity, id, message string) outcome.Problem {
		return outcome.Problem{Entity: entity, RefID: id, Message: message}
	}
	got := Rejections([]string{"i1", "i2", "both"}, []string{"o1", "both"}, []outcome.Problem{
		says("item", "of-somebody-else", "?"), says("item", "i1", "not on sale"), says("item", "i1", "no picture"),
		says("item", "i2", "unknown"),
		says("item", "o1", "unknown"), says("option", "o1", "again"), says("option", "both", "closed"),
		says("item", "both", "closed"), says("option", "i2", "?"), says("", "", "?"),
	})
	require.Equal(t, []Rejection{
		{Entity: "item", RefID: "i1", Message: "not on sale"}, {Entity: "item", RefID: "i2", Message: "unknown"},
		{Entity: "item", RefID: "o1", Message: "unknown"},
		{Entity: "option", RefID: "both", Message: "closed"}, {Entity: "item", RefID: "both", Message: "closed"},
	}, got)
}
