package hub

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/internal/sandbox"
)

func TestDemoLinkWorksAtEachStart(t *testing.T) {
	a := consoleHub(t)
	for range 2 {
		link, err := sandbox.DemoLink(t.Context(), a.hub.db, "http://127.0.0.1:8080")
		require.NoError(t, err)
		_, token, found := strings.Cut(link, "?link=")
		require.True(t, found)
		b := &browser{api: a}
		require.Equal(t, http.StatusSeeOther,
			b.post(t, shell.WelcomePath, url.Values{"link": {token}, "password": {consolePassword}}).status)
	}
}
