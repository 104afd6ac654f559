package store

import (
	"bytes"
	"fmt"
	"net/mail"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/servery-hub/servery/core"
)

// Bounds of the text and lists of a store, in characters and elements.
const (
	maxRefID    = 255
	maxShort    = 255 // names, cities, phone numbers, zip codes
	maxAddress  = 2000
	maxElements = 5000
)

// maxBytes bounds a store as it is sent, so that few stores make a page.
const maxBytes = 1 << 20

// checker checks one store and records what is wrong with it.
type checker struct {
	at        core.Object
	v         *core.Violations
	submitted *Submitted
}

func (c checker) fail(field, code, rule string) { c.v.Add(c.at, field, code, rule) }

// warn adds a warning about a field. The text continues the field's name.
func (c checker) warn(field, text string) {
	c.submitted.Warnings = append(c.submitted.Warnings, core.Warning{Path: field, Message: field + " " + text})
}

// check applies the rules that need no stored state. It also normalises timings (day in lower case, HH:MM:SS) and
// languages.
func check(submitted *Submitted, at core.Object, v *core.Violations) {
	c, o := checker{at, v, submitted}, &submitted.Object
	c.refID(o.RefID)
	c.text("name", o.Name, 1, maxShort)
	c.text("city", o.City, 1, maxShort)
	c.text("contact_phone", o.ContactPhone, 0, maxShort)
	c.text("address", o.Address, 0, maxAddress)
	c.notNegative("min_pickup_time", o.MinPickupTime)
	c.notNegative("min_delivery_time", o.MinDeliveryTime)
	if o.MinOrderValue != nil && o.MinOrderValue.IsNegative() {
		c.fail("min_order_value", "range", "must not be negative")
	}
	c.within("geo_latitude", o.Latitude, 90)
	c.within("geo_longitude", o.Longitude, 180)
	c.list("notification_phones", o.NotificationPhones, 1)
	c.list("notification_emails", o.NotificationEmails, 1)
	for i, address := range o.NotificationEmails {
		if parsed, err := mail.ParseAddress(address); err != nil || parsed.Address != address {
			c.fail(fmt.Sprintf("notification_emails[%d]", i), "email",
				"must be an e-mail address such as store@example.com, not "+core.Quote(address))
		}
	}
	c.list("zip_codes", o.ZipCodes, 1)
	c.platforms("excluded_platforms", &o.ExcludedPlatforms)
	c.platforms("included_platforms", &o.IncludedPlatforms)
	o.Translations = c.translations(o.Translations)
	c.platformData(o.PlatformData)
	core.CheckHours("timings", o.Timings, c.fail)
	core.CheckDates("special_timings", o.SpecialTimings, c.fail)
	c.size(submitted.Raw)
}

func (c checker) refID(refID *string) {
	switch {
	case refID == nil:
		c.fail("ref_id", "required", "is required")
	case strings.TrimSpace(*refID) == "":
		c.fail("ref_id", "required", "must not be empty")
	case *refID == "-1":
		c.fail("ref_id", "reserved", "must not be -1, the id of the master catalogue")
	default:
		c.text("ref_id", refID, 1, maxRefID)
		c.pathSegment("ref_id", *refID)
	}
}

// size checks the size of a store. If it is too large, its longest field is to blame.
func (c checker) size(raw jsontext.Value) {
	if len(raw) <= maxBytes {
		return
	}
	name, length := longestMember(raw)
	c.fail(name, "length", fmt.Sprintf("has %d bytes: a store must be at most %d bytes long, not %d", length, maxBytes,
		len(raw)))
}

// longestMember returns the name and the length in bytes of the longest member of an object. It does not copy the
// members.
func longestMember(object jsontext.Value) (longest string, length int64) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(object))
	if _, err := decoder.ReadToken(); err != nil {
		return "", 0
	}
	for decoder.PeekKind() == '"' {
		token, err := decoder.ReadToken()
		if err != nil {
			break
		}
		name, begin := token.String(), decoder.InputOffset()
		if decoder.SkipValue() != nil {
			break
		}
		if n := decoder.InputOffset() - begin; n > length {
			longest, length = name, n
		}
	}
	return longest, length
}

func (c checker) pathSegment(field, id string) {
	if wrong := CheckID(id); wrong != "" {
		c.fail(field, "reserved", wrong)
	}
}

// CheckID returns what is wrong with an id of a store, or "". Aggregators use the id as a path segment of their URLs,
// where "." and ".." have another meaning.
func CheckID(id string) string {
	if id == "." || id == ".." {
		return `must not be "." or ".."`
	}
	return ""
}

func (c checker) text(field string, s *string, shortest, longest int) {
	if code, rule := core.CheckText(s, shortest, longest); rule != "" {
		c.fail(field, code, rule)
	}
}

func (c checker) list(field string, list []string, shortest int) {
	if len(list) > maxElements {
		c.fail(field, "length", fmt.Sprintf("must have at most %d elements, not %d", maxElements, len(list)))
		return
	}
	for i := range list {
		c.text(fmt.Sprintf("%s[%d]", field, i), &list[i], shortest, maxShort)
	}
}

// platforms checks a list of names of platforms, and drops blank ones.
func (c checker) platforms(field string, list *[]string) {
	c.list(field, *list, 0) // before an entry changes its index
	kept, warning := core.DropBlankEntries(*list, "names")
	if *list = kept; warning != "" {
		c.warn(field, warning)
	}
}

func (c checker) notNegative(field string, n *int64) {
	if n != nil && (*n < 0 || *n > 1<<31-1) {
		c.fail(field, "range", fmt.Sprintf("must be a number of seconds from 0 to 2147483647, not %d", *n))
	}
}

func (c checker) within(field string, degrees *float64, limit float64) {
	if degrees != nil && (*degrees < -limit || *degrees > limit) {
		c.fail(field, "range", fmt.Sprintf("must be between -%g and %g degrees, not %g", limit, limit, *degrees))
	}
}

// translations checks translated names. It drops those without a language, those of a language that an earlier one has,
// and those that decodeLenient warned about.
func (c checker) translations(list []Translation) []Translation {
	ignored := map[string]bool{}
	for _, warning := range c.submitted.Warnings {
		ignored[warning.Path] = true
	}
	unique := list[:0]
	for i, t := range list {
		field := fmt.Sprintf("translations[%d]", i)
		if ignored[field+".name"] {
			continue
		}
		if strings.TrimSpace(t.Language) == "" {
			c.warn(field+".language", core.NoLanguage)
			continue
		}
		c.text(field+".language", &t.Language, 1, maxShort)
		c.text(field+".name", &t.Name, 1, maxShort)
		stored, warning := core.ReadLanguage(t.Language)
		if t.Language = stored; warning != "" {
			c.warn(field+".language", warning)
		}
		if slices.ContainsFunc(unique, func(other Translation) bool { return other.Language == t.Language }) {
			c.warn(field+".language", "is given twice, and the first translation is used")
			continue
		}
		unique = append(unique, t)
	}
	if len(unique) == 0 && len(list) > 0 { // would delete the stored ones
		return nil
	}
	return unique
}

func (c checker) platformData(list []PlatformData) {
	if len(list) > maxElements {
		c.fail("platform_data", "length",
			fmt.Sprintf("must have at most %d elements, not %d", maxElements, len(list)))
		return
	}
	seen := map[string]bool{}
	for i := range list {
		p, field := &list[i], fmt.Sprintf("platform_data[%d]", i)
		c.text(field+".name", &p.Name, 1, maxShort)
		if seen[p.Name] {
			c.fail(field+".name", "duplicate", "is given twice")
		}
		seen[p.Name] = true
		if wrong := core.CheckLink(strings.TrimSpace(p.URL)); p.URL != "" && wrong != "" {
			c.fail(field+".url", "url", wrong)
		}
		c.text(field+".platform_store_id", &p.PlatformStoreID, 0, maxShort)
		c.pathSegment(field+".platform_store_id", p.PlatformStoreID)
	}
}
