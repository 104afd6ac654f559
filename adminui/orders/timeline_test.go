package orders

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// fakeDeliveries has the attempts of deliveries by id.
type fakeDeliveries map[core.ID][]webhook.AttemptRecord

// Get returns the attempts of a delivery, or NotFound.
func (f fakeDeliveries) Get(_ context.Context, _ core.BusinessID, id core.ID) (webhook.DeliveryRecord,
	[]webhook.AttemptRecord, error) {
	if attempts, found := f[id]; found {
		return webhook.DeliveryRecord{ID: id}, attempts, nil
	}
	return webhook.DeliveryRecord{}, nil, core.Errorf(core.NotFound, "no such delivery")
}

func TestRepeatedDeliveriesNameEachAcceptedAttempt(t *testing.T) {
	id := func(minute int) core.ID { return core.NewID(time.Unix(int64(60*minute), 0)) }
	attempt := func(n, status int) webhook.AttemptRecord {
		return webhook.AttemptRecord{N: n, Attempt: webhook.Attempt{Status: status}}
	}
	twice, expired, once, failed := id(1), id(2), id(3), id(4)
	p := Pages{Deliveries: fakeDeliveries{twice: {attempt(1, 200), attempt(2, 204)}}}
	v := &shell.PageContext{Zone: time.UTC, Business: core.Business{ID: 1}}
	texts, err := p.repeatedDeliveries(t.Context(), v, []webhook.DeliveryRecord{
		{ID: twice, State: webhook.Delivered, Attempts: 2}, {ID: expired, State: webhook.Delivered, Attempts: 3},
		{ID: once, State: webhook.Delivered, Attempts: 1}, {ID: failed, State: webhook.Failed, Attempts: 6}})
	require.NoError(t, err)
	require.Equal(t, map[core.ID]string{
		twice:   "Delivered 2 times: the server accepted attempts 1 and 2.",
		expired: "Delivered: the server accepted attempt 3.",
	}, texts)
}
