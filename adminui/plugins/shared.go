package plugins

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
)

// sharedFacts describe the shared URL of a plugin: its addresses, what verifies requests there, and the last rejected
// one. Without such a URL there are none.
func sharedFacts(v *shell.PageContext, p console.Plugin, shared console.SharedInbound, base string) (facts []ui.Fact) {
	for _, in := range p.About.Inbound {
		if !in.Shared {
			continue
		}
		note := text.CallbackVerified
		if !slices.Contains(shared.Secrets, in.Secret) {
			note = text.CallbackUnverified
		}
		address := fmt.Sprintf("%s/channel/api/v1/shared/%s/callback/%s/", base, url.PathEscape(p.ID),
			url.PathEscape(in.Kind))
		facts = append(facts, ui.Fact{Label: text.SharedAddress,
			Cell: ui.Cell{Text: address, Code: true, Note: fmt.Sprintf(note, in.Secret, in.Proof)}})
	}
	if len(facts) == 0 {
		return nil
	}
	rejected := ui.T(text.LastRejectedNone)
	if !shared.RejectedAt.IsZero() {
		rejected = ui.Cell{Instant: new(v.At(shared.RejectedAt))}
		if v.Visible() == nil { // the reason can name a store of any business
			rejected.Note = shared.Rejection
		}
	}
	return append(facts, ui.Fact{Label: text.SharedUnrouted, Cell: ui.T(ui.Number(int(shared.Unrouted)))},
		ui.Fact{Label: text.LastRejectedCall, Cell: rejected})
}
