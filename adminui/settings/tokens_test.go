package settings

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/console"
)

func TestOnlyDeclaredTokensAreCauses(t *testing.T) {
	failed := time.Now()
	platform := console.PlatformSettings{Tokens: []console.PlatformToken{
		{Credential: "partner", FailedAt: failed, Failure: "refused"}, {Credential: "former", FailedAt: failed},
		{Credential: "working"}}}
	causes := tokenCauses(platform, []string{"partner", "working"})
	require.Len(t, causes, 1)
	require.Contains(t, causes[0].Text, "partner")
	require.Contains(t, causes[0].Text, "refused.")
}
