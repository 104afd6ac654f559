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
func callFacts(v *shell.PageContext, platform console.PlatformSettings, inbound []console.PluginInbound,
	base string) (facts []ui.Fact) {
	callbackURL := base + "/channel/api/v1/" + url.PathEscape(platform.Name) + "/callback/"
	keys := ui.Cell{Text: text.KeysNone, Note: text.KeysNoneNote}
	for _, in := range inbound {
		note, by, ready := text.CallbackUnverified, in.Secret, false
		if in.Secret != "" {
			_, ready = platform.Secrets[in.Secret]
		} else {
			note, by, ready = text.CallbackNoKeySet, in.Endpoint, platform.Addresses[in.Endpoint] != ""
		}
		if ready {
			note, keys.Note = text.CallbackVerified, text.KeysNotNeeded
		}
		facts = append(facts, ui.Fact{Label: text.CallbackAddress,
			Cell: ui.Cell{Text: fmt.Sprintf("%s%s/?business=%d", callbackURL, url.PathEscape(in.Kind), v.Business.ID),
				Code: true, Note: fmt.Sprintf(note, by, in.Proof)}})
	}
	if len(platform.Keys) > 0 {
		keys = ui.Cell{Instant: new(v.At(platform.Keys[0])),
			Note: ui.Count(len(platform.Keys), text.OneCallbackKey, text.CallbackKeys_)}
	}
	rejected := ui.T(text.LastRejectedNone)
	if !platform.RejectedAt.IsZero() {
		rejected = ui.Cell{Instant: new(v.At(platform.RejectedAt)), Note: platform.Rejection}
	}
	return append(facts, ui.Fact{Label: text.CallbackKeys, Cell: keys},
		ui.Fact{Label: text.LastRejectedCall, Cell: rejected})
}
