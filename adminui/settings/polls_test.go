package settings

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/console"
)

func TestOnlyFailingScheduledPollsAreCauses(t *testing.T) {
	due := time.Now()
	causes := pollCauses(console.PlatformSettings{Polls: []console.PlatformPoll{
		{Poll: "orders", Store: "s1", Failed: true, Message: "status 500", DueAt: due},
		{Poll: "former", Failed: true}, {Poll: "working", DueAt: due}}})
	require.Len(t, causes, 1)
	require.Contains(t, causes[0].Text, "orders of store s1: status 500.")
}
