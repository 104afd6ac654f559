package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/servery-hub/servery/core/internal/clocktest"
	"github.com/servery-hub/servery/core/internal/hubtest"
)

func TestNotificationsAfterConnectAreReceived(t *testing.T) {
	db := hubtest.Database(t, clocktest.New())
	for range 20 {
		ctx, stop := context.WithCancel(t.Context())
		received, ended := make(chan string, 10), make(chan struct{})
		go func() {
			defer close(ended)
			db.Listen(ctx, map[string]func(string){"servery_test": func(payload string) { received <- payload }})
		}()
		require.Empty(t, <-received, "connected")
		require.NoError(t, pgdriver.Notify(ctx, db.Bun(), "servery_test", "now"))
		select {
		case payload := <-received:
			require.Equal(t, "now", payload)
		case <-time.After(10 * time.Second):
			require.Fail(t, "the notification is lost")
		}
		stop()
		<-ended
	}
}
