package sdk

import (
	"cmp"
	"unicode/utf8"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// MaxStoreReason bounds the reason of a store report, in bytes.
const MaxStoreReason = 500

// StoreReport is the state of a store on the aggregator.
type StoreReport = pb.StoreReport

// ReportedStore returns the translation of an inbound request about the state of a store.
func ReportedStore(report *StoreReport) (*Translation, error) {
	return &Translation{Meaning: &pb.Translation_StoreReport{StoreReport: report}}, nil
}

// RequestedMenu returns the translation of an inbound request for the menu of a store, by the aggregator's id of it.
func RequestedMenu(platformStoreID string) (*Translation, error) {
	return &Translation{Meaning: &pb.Translation_MenuRequest{
		MenuRequest: &pb.MenuRequest{PlatformStoreId: platformStoreID}}}, nil
}

// isAboutStore reports whether a translation is about a store.
func isAboutStore(t *Translation) bool { return t.GetStoreReport() != nil || t.GetMenuRequest() != nil }

// aboutStore checks a translation about a store.
func (c *validation) aboutStore(t *Translation) {
	if r := t.GetStoreReport(); r != nil {
		_, named := pb.StoreState_name[int32(r.GetState())]
		c.check(named && r.GetState() != pb.StoreState_STORE_STATE_UNSPECIFIED, "store_report: the state %d is none",
			r.GetState())
		c.check(cmp.Or(r.GetStoreRefId(), r.GetPlatformStoreId()) != "", "store_report: names no store")
		c.check(len(r.GetReason()) <= MaxStoreReason && utf8.ValidString(r.GetReason()),
			"store_report: reason: must have at most %d bytes", MaxStoreReason)
		c.check(r.GetUntil() >= 0 && r.GetOccurredAt() >= 0, "store_report: a time is negative")
	}
	if r := t.GetMenuRequest(); r != nil {
		c.check(cmp.Or(r.GetStoreRefId(), r.GetPlatformStoreId()) != "", "menu_request: names no store")
	}
}
