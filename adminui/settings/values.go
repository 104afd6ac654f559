package settings

import (
	"fmt"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core/console"
)

// valueFacts returns the values that the plugin keeps.
func valueFacts(platform console.PlatformSettings) (facts []ui.Fact) {
	for _, v := range platform.Values {
		label := fmt.Sprintf(text.ValueOf, v.Name)
		if v.Store != "" {
			label = fmt.Sprintf(text.ValueOfStore, v.Name, v.Store)
		}
		facts = append(facts, ui.Fact{Label: label, Cell: ui.T(v.Value)})
	}
	return facts
}
