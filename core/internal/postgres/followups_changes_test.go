package postgres_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
)

func TestChangeWithTooManyFlagsIsStored(t *testing.T) {
	h := newFollowUpHarness(t)
	id := h.arrive("F-1", partnerDelivery)
	options := strings.Repeat(`,{"ref_id":"x","price":1}`, 500)[1:]
	line := `,{"ref_id":"curry","quantity":1,"price":5,"options":[` + options + `]}`
	_, err := h.change("F-1", "c-1", strings.Repeat(line, 66)[1:])
	require.NoError(t, err)
	var flags int
	pgtest.Row(t, h.db, &flags, `SELECT flags FROM orders WHERE business_id = ? AND id = ?`, h.business, id)
	require.Equal(t, math.MaxInt16, flags)
}
