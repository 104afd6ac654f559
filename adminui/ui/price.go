package ui

import "github.com/servery-hub/servery/core"

// Price formats an amount with the decimal places of its currency and its code, such as 9.50 EUR. It returns "" for no
// amount, and any other text unchanged.
func Price(amount, currency string) string {
	parsed, err := core.ParseAmount(amount)
	if err != nil || currency == "" {
		return amount
	}
	places := max(core.MinorDigits(currency), -parsed.Exponent())
	return parsed.StringFixed(places) + " " + currency
}
