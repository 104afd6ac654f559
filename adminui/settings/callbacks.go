package settings

import (
	"fmt"
	"net/url"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
)

// callFacts returns the callback URLs of a platform, what verifies its calls, and the last rejected call. A URL with
// the business needs the platform's secret. One without it needs a callback key.
func callFacts(v *shell.PageContext, one console.PlatformSettings, inbound []console.PluginInbound,
	base string) (facts []ui.Fact) {
	address := base + "/channel/api/v1/" + url.PathEscape(one.Name) + "/callback/"
	keys := ui.Cell{Text: text.KeysNone, Note: text.KeysNoneNote}
	for _, in := range inbound {
		words := text.CallbackUnverified
		if _, set := one.Secrets[in.Secret]; set {
			words, keys.Note = text.CallbackVerified, text.KeysNotNeeded
		}
		facts = append(facts, ui.Fact{Label: text.CallbackAddress,
			Cell: ui.Cell{Text: fmt.Sprintf("%s%s/?business=%d", address, url.PathEscape(in.Kind), v.Business.ID),
				Code: true, Note: fmt.Sprintf(words, in.Secret, in.Header)}})
	}
	if len(one.Keys) > 0 {
		keys = ui.Cell{Instant: new(v.At(one.Keys[0])),
			Note: ui.Count(len(one.Keys), text.OneCallbackKey, text.CallbackKeys_)}
	}
	refused := ui.T(text.LastRejectedNone)
	if !one.RejectedAt.IsZero() {
		refused = ui.Cell{Instant: new(v.At(one.RejectedAt)), Note: one.Rejection}
	}
	return append(facts, ui.Fact{Label: text.CallbackKeys, Cell: keys},
		ui.Fact{Label: text.LastRejectedCall, Cell: refused})
}
