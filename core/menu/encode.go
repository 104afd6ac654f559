package menu

import (
	"github.com/go-json-experiment/json"
	"golang.org/x/sync/errgroup"
)

// Encode writes the menu as JSON. The lists are written side by side: a large
// menu is megabytes of them.
func (m EffectiveMenu) Encode() ([]byte, error) {
	members := []struct {
		name  string
		value any
		text  []byte
	}{
		{name: "store_ref_id", value: m.StoreRefID}, {name: "platform", value: m.Platform}, {name: "categories", value: m.Categories},
		{name: "items", value: m.Items}, {name: "option_groups", value: m.OptionGroups}, {name: "options", value: m.Options},
		{name: "taxes", value: m.Taxes}, {name: "charges", value: m.Charges},
	}
	var writing errgroup.Group
	for i := range members {
		writing.Go(func() (err error) {
			members[i].text, err = json.Marshal(members[i].value, json.Deterministic(true))
			return err
		})
	}
	if err := writing.Wait(); err != nil {
		return nil, err
	}
	size := 200
	for i := range members {
		size += len(members[i].text)
	}
	body := make([]byte, 0, size)
	for i := range members {
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		body = append(append(append(body, separator, '"'), members[i].name...), `":`...)
		body = append(body, members[i].text...)
	}
	return append(body, '}'), nil
}
