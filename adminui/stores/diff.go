package stores

import (
	"fmt"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/compare"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/timeline"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/store"
)

// storeOf returns the store of the URL: its id and its ref_id.
func (p Pages) storeOf(c *fiber.Ctx, v *shell.PageContext) (id int64, ref string, updated time.Time, err error) {
	if id, err = strconv.ParseInt(c.Params("id"), 10, 64); err != nil {
		return 0, "", updated, core.Errorf(core.NotFound, text.NotFound)
	}
	ref, updated, err = p.Lister.StoreRef(c.UserContext(), v.Business.ID, id)
	return id, ref, updated, err
}

// bodies returns the bodies of the calls about a store.
func (p Pages) bodies(c *fiber.Ctx, v *shell.PageContext) (ui.Link, compare.Choice, error) {
	id, ref, _, err := p.storeOf(c, v)
	if err != nil {
		return ui.Link{}, compare.Choice{}, err
	}
	calls, err := p.Timeline.CallsOfStore(c.UserContext(), v.Business.ID, id, callsShown)
	return ui.Link{Href: v.Link(fmt.Sprintf("stores/%d/", id)), Label: ref},
		compare.Choice{Bodies: timeline.Bodies(calls, v.Zone)}, err
}

// Record downloads the record of a store.
func (p Pages) Record(c *fiber.Ctx, v *shell.PageContext) error {
	id, ref, _, err := p.storeOf(c, v)
	if err != nil {
		return err
	}
	s, err := p.Stores.Get(c.UserContext(), v.Business.ID, ref)
	if err != nil {
		return err
	}
	raw, err := recordOf(s)
	if err != nil {
		return err
	}
	return ui.File(c, fmt.Sprintf("store-%d.json", id), raw)
}

// recordOf returns a store as JSON.
func recordOf(s store.Stored) ([]byte, error) {
	return json.Marshal(s, json.Deterministic(true), jsontext.WithIndent("  "))
}
