package web

import (
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/store"
)

// maxZip bounds a zip code of the query string, in bytes.
const maxZip = 255

// listChannelStores lists the stores that a channel shows.
func (s *Server) listChannelStores(c *fiber.Ctx, caller core.Caller) error {
	list, meta, err := s.channelStores(c, caller, "")
	if err != nil {
		return err
	}
	return respondTagged(c, struct {
		Stores []store.Effective `json:"stores"`
		Meta   pageMeta          `json:"meta"`
	}{list.Stores, meta})
}

// listDeliverableStores lists the stores that deliver to a zip code.
func (s *Server) listDeliverableStores(c *fiber.Ctx, caller core.Caller) error {
	zip, err := zipCode(c)
	if err != nil {
		return err
	}
	list, meta, err := s.channelStores(c, caller, zip)
	if err != nil {
		return err
	}
	return respondTagged(c, struct {
		ZipCode    string            `json:"zip_code"`
		ByZipCodes bool              `json:"by_zip_codes"`
		Stores     []store.Effective `json:"stores"`
		Meta       pageMeta          `json:"meta"`
	}{zip, list.ByZipCodes, list.Stores, meta})
}

// channelStores returns a page of stores as channels see them.
func (s *Server) channelStores(c *fiber.Ctx, caller core.Caller,
	zip string) (list store.EffectivePage, meta pageMeta, err error) {
	var v core.Violations
	meta.Limit = intParam(c, "limit", intRange{50, 1, 1000}, &v)
	if err := v.Err(); err != nil {
		return list, meta, err
	}
	list, err = s.ChannelStores.List(c.UserContext(), caller.Business, store.Query{
		Platform: strings.Clone(c.Query("platform")), ZipCode: zip, After: strings.Clone(c.Query("after")),
		Limit: meta.Limit,
	})
	meta.Next = list.Next
	return list, meta, err
}

// getDeliverable returns whether a store delivers to a zip code.
func (s *Server) getDeliverable(c *fiber.Ctx, caller core.Caller) error {
	zip, err := zipCode(c)
	if err != nil {
		return err
	}
	refID := pathParam(c, "ref_id")
	deliverable, byZipCodes, err := s.ChannelStores.Deliverable(c.UserContext(), caller.Business, refID, zip,
		strings.Clone(c.Query("platform")))
	if err != nil {
		return err
	}
	return respondTagged(c, struct {
		StoreRefID  string `json:"store_ref_id"`
		ZipCode     string `json:"zip_code"`
		Deliverable bool   `json:"deliverable"`
		ByZipCodes  bool   `json:"by_zip_codes"`
	}{refID, zip, deliverable, byZipCodes})
}

// zipCode returns the required query parameter zip_code.
func zipCode(c *fiber.Ctx) (string, error) {
	var v core.Violations
	zip := strings.TrimSpace(strings.Clone(c.Query("zip_code")))
	if zip == "" {
		v.AddBody("zip_code", "required", "is required")
	} else if len(zip) > maxZip {
		v.AddBody("zip_code", "length", fmt.Sprintf("must be at most %d bytes long, not %d", maxZip, len(zip)))
	}
	return zip, v.Err()
}
