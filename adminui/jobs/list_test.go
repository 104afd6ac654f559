package jobs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/console"
)

func TestListShowsOrdersThatFailedAgain(t *testing.T) {
	v := &shell.PageContext{Zone: time.UTC}
	for _, row := range []struct {
		result        string
		state         ui.State
		words, failed string
	}{
		{`{"retried":12,"failed":12}`, ui.Err, "Done, 12 of 12 failed again", "12"},
		{`{"retried":12,"failed":1}`, ui.Warn, "Done, 1 of 12 failed again", "1"},
		{`{"retried":12,"failed":0}`, ui.OK, "Done", ""},
	} {
		list := Table(v, []console.Job{{Kind: core.OrderRetryJob, State: "done", Total: 12,
			Result: []byte(row.result)}})
		cells := list.Rows[0].Cells
		require.Equal(t, ui.StateCell(row.state, row.words), cells[1])
		require.Equal(t, row.failed, cells[4].Text)
	}
}
