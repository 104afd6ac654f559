package settings

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/store"
)

// Listing reads and changes the default listing of new stores.
type Listing interface {
	DefaultListing(ctx context.Context, business core.BusinessID) (store.DefaultListing, error)
	SetDefaultListing(ctx context.Context, business core.BusinessID, from, to store.DefaultListing,
		change access.Change) error
}

// ListingFact returns the platforms on which stores without platform lists are listed.
func ListingFact(listing store.DefaultListing) ui.Fact {
	return ui.Fact{Label: text.ListStores, Cell: ui.T(listingWords(listing))}
}

func listingWords(listing store.DefaultListing) string {
	if listing == store.ListAll {
		return text.ListStoresAll
	}
	return text.ListStoresNone
}

// listingButton returns the button that changes the default listing.
func listingButton(v *shell.PageContext, listing store.DefaultListing) ui.Button {
	return ui.Button{Label: text.ListStoresAct, Action: v.Link("settings/listing/"), ReasonLabel: text.Why,
		Help: text.ListStoresSay, Hidden: []ui.Option{{Label: "from", Value: string(listing)}}, Fields: []ui.Filter{
			{Name: "listing", Label: text.ListStores, Value: string(listing),
				Options: []ui.Option{{Value: string(store.ListNone), Label: text.ListStoresNone},
					{Value: string(store.ListAll), Label: text.ListStoresAll}}}}}
}

// ListStores sets the default listing of new stores.
func (p Pages) ListStores(c *fiber.Ctx, v *shell.PageContext) error {
	listing, err := store.ParseDefaultListing(shell.Field(c, "listing"))
	if err == nil {
		err = p.Listing.SetDefaultListing(c.UserContext(), v.Business.ID, store.DefaultListing(shell.Field(c, "from")),
			listing, v.Change(c, "business.list_stores"))
	}
	if err != nil {
		return v.Redisplay(c, err, v.Link("settings/"), p.List)
	}
	return shell.RedirectDone(c, v.Link("settings/"), "stored")
}
