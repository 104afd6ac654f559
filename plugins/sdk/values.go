package sdk

import (
	"strings"
	"unicode/utf8"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// Bounds of kept values. A platform has at most MaxKept values, and so does each store on it.
const (
	MaxKept      = 32
	MaxKeptName  = 64
	MaxKeptValue = 256 // bytes
)

// KeptValue is a value that later calls have; see Keep.
type KeptValue = pb.KeptValue

// Keep returns a value that later calls about the store of this call have (Value). An empty value removes it. It must
// be neither a secret nor personal data.
func Keep(name, value string) *KeptValue { return &KeptValue{Name: name, Value: value} }

// KeepForPlatform is Keep for all calls of the platform.
func KeepForPlatform(name, value string) *KeptValue {
	return &KeptValue{Name: name, Value: value, PlatformWide: true}
}

// KeepForStore is Keep for a store, by its ref_id.
func KeepForStore(storeRefID, name, value string) *KeptValue {
	return &KeptValue{Name: name, Value: value, StoreRefId: storeRefID}
}

// Value returns a kept value of the store of a call, or else of its platform, or "".
func Value(call *Call, name string) string { return call.GetValues()[name] }

// kept checks the values that a result keeps.
func (c *validation) kept(list []*KeptValue) {
	c.check(len(list) <= MaxKept, "keep: must be at most %d values", MaxKept)
	for i, v := range list {
		c.check(namePattern.MatchString(v.GetName()) && len(v.GetName()) <= MaxKeptName,
			"keep[%d]: name: must be lower-case letters, digits and underscores, at most %d", i, MaxKeptName)
		c.check(len(v.GetValue()) <= MaxKeptValue && utf8.ValidString(v.GetValue()) &&
			!strings.ContainsRune(v.GetValue(), 0),
			"keep[%d]: value: must be text of at most %d bytes", i, MaxKeptValue)
		stores := countTrue(v.GetStoreRefId() != "", v.GetPlatformStoreId() != "", v.GetPlatformWide())
		c.check(stores <= 1, "keep[%d]: must have one of store_ref_id, platform_store_id and platform_wide", i)
	}
}
