package doctor

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/servery-hub/servery/core/internal/postgres"
	webhooksdb "github.com/servery-hub/servery/core/internal/postgres/webhooks"
	"github.com/servery-hub/servery/core/webhook"
)

// Bounds of the endpoint checks.
const (
	maxEndpoints        = 200
	endpointConcurrency = 8
	endpointTimeout     = 30 * time.Second
)

// notChecked is the problem of a server for which no time was left.
const notChecked = "not checked"

// Endpoints connects to the server of every active webhook, as deliveries would.
func (d *Doctor) Endpoints(ctx context.Context, db *postgres.DB, allow []netip.Prefix) {
	servers, err := webhooksdb.New(db).Servers(ctx, maxEndpoints+1)
	if err != nil {
		d.Add("webhooks", Fail, err.Error(), "see the log of PostgreSQL")
		return
	}
	if len(servers) > maxEndpoints {
		servers = servers[:maxEndpoints]
		d.Add("webhooks", Warn, fmt.Sprintf("only the first %d servers are checked", maxEndpoints), "")
	}
	ctx, cancel := context.WithTimeout(ctx, endpointTimeout)
	defer cancel()
	guard, problems := webhook.NewGuard(allow), make([]string, len(servers))
	var checks sync.WaitGroup
	slots := make(chan struct{}, endpointConcurrency)
	for i, server := range servers {
		checks.Add(1)
		slots <- struct{}{}
		go func() {
			defer checks.Done()
			problems[i] = guard.CheckConnection(ctx, server)
			if problems[i] != "" && ctx.Err() != nil {
				problems[i] = notChecked
			}
			<-slots
		}()
	}
	checks.Wait()
	reached, skipped := 0, 0
	for i, problem := range problems {
		switch problem {
		case "":
			reached++
			continue
		case notChecked:
			skipped++
			continue
		}
		d.Add("webhooks", Warn, servers[i]+": "+problem,
			"contact its owner, or add a private address to SERVERY_WEBHOOK_ALLOW")
	}
	if skipped > 0 {
		d.Add("webhooks", Warn, fmt.Sprintf("%d servers were not checked in the %v", skipped, endpointTimeout), "")
	}
	if reached > 0 || len(servers) == 0 {
		d.Add("webhooks", OK, fmt.Sprintf("%d of %d servers accept connections", reached, len(servers)), "")
	}
}
