package settings

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/relay"
)

// tokenFacts returns when each declared access token was last renewed, and that of each store with own secrets.
func tokenFacts(v *shell.PageContext, platform console.PlatformSettings, declared []string) (facts []ui.Fact) {
	for _, name := range declared {
		known := false
		for _, token := range platform.Tokens {
			if token.Credential == name {
				facts, known = append(facts, ui.Fact{Label: tokenLabel(token), Cell: tokenCell(v, token)}), true
			}
		}
		if !known {
			facts = append(facts, ui.Fact{Label: fmt.Sprintf(text.TokenOf, name), Cell: ui.T(text.TokenNever)})
		}
	}
	return facts
}

func tokenLabel(token console.PlatformToken) string {
	if token.Store == "" {
		return fmt.Sprintf(text.TokenOf, token.Credential)
	}
	return fmt.Sprintf(text.TokenOfStore, token.Credential, token.Store)
}

// tokenCell returns when a token was renewed or, if that fails, since when and why.
func tokenCell(v *shell.PageContext, token console.PlatformToken) ui.Cell {
	switch {
	case !token.FailedAt.IsZero():
		return ui.Cell{Instant: new(v.At(token.FailedAt)), Note: token.Failure}
	case token.RenewedAt.IsZero():
		return ui.T(text.TokenNever)
	case token.ExpiresAt.IsZero():
		return ui.Cell{Instant: new(v.At(token.RenewedAt)), Note: text.TokenRenewedOnce}
	}
	return ui.Cell{Instant: new(v.At(token.RenewedAt)),
		Note: fmt.Sprintf(text.TokenRenewed, token.ExpiresAt.In(v.Zone).Format("2 Jan 2006 15:04 MST"))}
}

// tokenCauses returns the declared access tokens that cannot be renewed.
func tokenCauses(platform console.PlatformSettings, declared []string) (causes []ui.Cause) {
	for _, token := range platform.Tokens {
		if !token.FailedAt.IsZero() && slices.Contains(declared, token.Credential) {
			causes = append(causes, ui.Cause{State: ui.Err,
				Text: tokenLabel(token) + ": " + fmt.Sprintf(text.TokenFailing, sentence(token.Failure))})
		}
	}
	return causes
}

// sentence returns a reason with a full stop.
func sentence(reason string) string { return strings.TrimSuffix(cmp.Or(reason, "unknown"), ".") + "." }

// describeSecret returns the description of a secret, with the stores that have an own value.
func describeSecret(platform console.PlatformSettings, secret, description string) string {
	var stores []string
	for _, name := range slices.Sorted(maps.Keys(platform.Secrets)) {
		if store, own := strings.CutPrefix(name, relay.StoreSecret(secret, "")); own {
			stores = append(stores, store)
		}
	}
	if len(stores) == 0 {
		return description
	}
	return sentence(description) + " " + fmt.Sprintf(text.SecretOfStores, strings.Join(stores, ", "))
}
