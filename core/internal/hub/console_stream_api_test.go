package hub

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestLiveStreamEndsWithItsUsersSession(t *testing.T) {
	a := consoleHub(t)
	tenant := hubtest.Business(t, a.hub.db)
	sam := a.user(t, "sam@example.com", access.Support, tenant.ID)
	conn, err := net.Dial("tcp", serveOn(t, a))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = fmt.Fprintf(conn, "GET %s%d/ HTTP/1.1\r\nHost: example.com\r\nCookie: servery=%s\r\n\r\n", shell.LivePath,
		tenant.ID, sam.session)
	require.NoError(t, err)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	stream := bufio.NewReader(response.Body)
	line, err := stream.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "welcome")

	require.Equal(t, http.StatusSeeOther, sam.post(t, shell.SignOutPath, nil).status)
	beats := 0 // an open stream sends one every few seconds
	for ; err == nil && beats < 20; beats++ {
		_, err = stream.ReadString('\n')
	}
	require.Error(t, err, "the stream goes on")
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
}
