package core

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ServedByMerchant marks a platform that is the merchant's own website or app. Any other value of Platform.ServedBy is
// a plugin id.
const ServedByMerchant = "own"

// Platform is an ordering channel of a business, under the name that the business chose.
type Platform struct {
	Name       string `json:"name"`
	ServedBy   string `json:"served_by"`
	EventAlias string `json:"-"` // the alias that events use; "" if they use Name
}

// EventName returns the name of the platform in events.
func (p Platform) EventName() string { return cmp.Or(p.EventAlias, p.Name) }

// PlatformAlias is another name of a platform, which a client of the business has fixed in its code.
type PlatformAlias struct {
	Alias    string `json:"alias"`
	Platform string `json:"platform"`
	InEvents bool   `json:"sent"` // events use it; at most one alias of a platform
}

// String returns an alias as lists show it.
func (a PlatformAlias) String() string {
	if a.InEvents {
		return a.Alias + " (sent)"
	}
	return a.Alias
}

// NewPlatformAlias is an alias to add. With a nil InEvents, events use it if it is the first of its platform.
type NewPlatformAlias struct {
	Alias, Platform string
	InEvents        *bool
}

// PlatformNames are the names and aliases of the platforms of a business.
type PlatformNames struct {
	platforms    map[string]string // by name and by alias
	eventAliases map[string]string // aliases by platform
}

// NewPlatformNames returns the names of platforms with these aliases.
func NewPlatformNames(platforms []string, aliases ...PlatformAlias) PlatformNames {
	n := PlatformNames{platforms: make(map[string]string, len(platforms)+len(aliases)),
		eventAliases: map[string]string{}}
	for _, a := range aliases {
		n.platforms[a.Alias] = a.Platform
		if a.InEvents {
			n.eventAliases[a.Platform] = a.Alias
		}
	}
	for _, name := range platforms { // a name has priority over an alias
		n.platforms[name] = name
	}
	return n
}

// Resolve returns the platform that a name or an alias stands for. It returns an unknown name unchanged.
func (n PlatformNames) Resolve(name string) string { return cmp.Or(n.platforms[name], name) }

// Known reports whether the business has a platform with the name or alias.
func (n PlatformNames) Known(name string) bool { return n.platforms[name] != "" }

// EventName returns the name of a platform in events.
func (n PlatformNames) EventName(platform string) string {
	return cmp.Or(n.eventAliases[platform], platform)
}

// HasEventAliases reports whether events use an alias for any platform.
func (n PlatformNames) HasEventAliases() bool { return len(n.eventAliases) > 0 }

// MaxPlatformName bounds the names of platforms and their aliases, in characters.
const MaxPlatformName = 255

// DefaultTag stands for every platform in the tags and images of a menu, so it is no alias.
const DefaultTag = "default"

// CheckAlias returns what is wrong with an alias, or "". The text continues the word alias.
func CheckAlias(alias string) string {
	switch {
	case alias == "" || TooLong(alias, MaxPlatformName) != "":
		return "must have 1 to " + strconv.Itoa(MaxPlatformName) + " characters"
	case !utf8.ValidString(alias) || strings.ContainsFunc(alias, unicode.IsControl):
		return "must have no control characters"
	case strings.TrimSpace(alias) != alias:
		return "must not begin or end with a space"
	case alias == DefaultTag:
		return `must not be "` + DefaultTag + `": in tags and images that stands for every platform`
	}
	return ""
}

// Warning reports a part of a request that had no effect, or was changed.
type Warning struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// DropBlankEntries removes blank entries from a list of a request, whose entries are names or references. It returns a
// warning that continues the name of the field, or "". A list of only blank entries counts as not sent, because an
// empty list has a meaning.
func DropBlankEntries(list []string, entries string) (kept []string, warning string) {
	kept = DropBlank(list)
	switch len(kept) {
	case len(list):
		return kept, ""
	case 0:
		return nil, "contains only empty " + entries + ", and is read as absent"
	}
	return kept, "contains empty " + entries + ", which are ignored"
}

// UnknownPlatforms returns the warning about platforms that the business does not have. They are stored, and take
// effect when it gets them.
func UnknownPlatforms(field string, names []string) []Warning {
	if len(names) == 0 {
		return nil
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	noun := "the platform "
	if len(names) > 1 {
		noun = "platforms "
	}
	return []Warning{{field, field + " names " + noun + QuoteNames(names) +
		", which this business does not have yet"}}
}

// maxQuoted bounds the names in one message.
const maxQuoted = 20

// QuoteNames quotes names for a message, and counts those beyond the first few.
func QuoteNames(names []string) string {
	quoted := make([]string, min(len(names), maxQuoted))
	for i := range quoted {
		quoted[i] = `"` + strings.ToValidUTF8(names[i], "?") + `"`
	}
	list := strings.Join(quoted, ", ")
	if more := len(names) - len(quoted); more > 0 {
		list += " and " + strconv.Itoa(more) + " more"
	}
	return list
}

// ResolveEach resolves the names of the elements of a list. For each platform it keeps one element: the one with the
// platform's own name, or else the first. It returns the names of the others. It returns the list itself if nothing
// changes.
func ResolveEach[T any](list []T, name func(*T) *string, resolve func(string) string) (resolved []T, dropped []string) {
	var platforms []string
	for i := range list {
		if sent := *name(&list[i]); resolve(sent) != sent {
			platforms = make([]string, len(list))
			break
		}
	}
	if platforms == nil {
		return list, nil
	}
	best := make(map[string]int, len(list)) // index by platform
	for i := range list {
		sent := *name(&list[i])
		platforms[i] = resolve(sent)
		if first, twice := best[platforms[i]]; !twice || sent == platforms[i] && *name(&list[first]) != sent {
			best[platforms[i]] = i
		}
	}
	resolved = make([]T, 0, len(list))
	for i, element := range list {
		if best[platforms[i]] != i {
			dropped = append(dropped, *name(&list[i]))
			continue
		}
		*name(&element) = platforms[i]
		resolved = append(resolved, element)
	}
	return resolved, dropped
}

// ResolveNames resolves a list of names, each platform once. It returns the list itself if nothing changes.
func ResolveNames(list []string, resolve func(string) string) []string {
	resolved, _ := ResolveEach(list, func(s *string) *string { return s }, resolve)
	return resolved
}

// DuplicatePlatforms returns the warning about entries that name the same platform as another entry.
func DuplicatePlatforms(field string, dropped []string) []Warning {
	if len(dropped) == 0 {
		return nil
	}
	return []Warning{{field, field + " names a platform twice; the entry under the alias is left out: " +
		QuoteNames(dropped)}}
}
