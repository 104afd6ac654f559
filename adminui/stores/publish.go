package stores

import (
	"fmt"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/store"
)

// publishButtons returns the button that publishes the store's menu, if a plugin serves a platform of the store.
func publishButtons(v *shell.PageContext, id int64, s store.Stored, platforms []core.Platform) []ui.Button {
	options := []ui.Option{{Value: "", Label: text.PublishEverywhere}}
	listing := store.Listing{Excluded: s.ExcludedPlatforms, Included: s.IncludedPlatforms}
	for _, platform := range platforms {
		if platform.ServedBy != core.ServedByMerchant && listing.ListedOn(platform.Name) {
			options = append(options, ui.Option{Value: platform.Name, Label: platform.Name})
		}
	}
	if len(options) == 1 || !v.MayAct() {
		return nil
	}
	return []ui.Button{{Label: text.PublishNow, Action: v.Link(fmt.Sprintf("stores/%d/publish/", id)),
		ReasonLabel: text.Why,
		Help:        text.PublishNowSay,
		Fields:      []ui.Filter{{Name: "platform", Label: text.PublishOn, Options: options}}}}
}

// Publish publishes the menu of a store on one platform, or on all that list it.
func (p Pages) Publish(c *fiber.Ctx, v *shell.PageContext) error {
	id, ref, _, err := p.storeOf(c, v)
	if err != nil {
		return err
	}
	var platforms []string
	if platform := shell.Field(c, "platform"); platform != "" {
		platforms = []string{platform}
	}
	change := v.Change(c, "store.publish")
	change.Object = fmt.Sprintf("store/%d", id)
	if err := p.Publisher.PublishNow(c.UserContext(), v.Business.ID, ref, platforms, change); err != nil {
		return err
	}
	return shell.RedirectDone(c, v.Link(fmt.Sprintf("stores/%d/", id)), "published")
}
