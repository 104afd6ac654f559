package adminui_test

import (
	"context"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/toggle"
)

func (f *fake) SetWorkload(_ context.Context, business core.BusinessID, r toggle.StoreRequest, _ core.ID,
	actor string) (toggle.Accepted, error) {
	f.recordChange(access.Change{Business: business, Actor: actor, Action: "store." + string(r.Action), Why: r.Why,
		After: map[string]any{"minutes": r.PrepMinutes, "until": r.Until, "platforms": r.Platforms}})
	return toggle.Accepted{}, nil
}
