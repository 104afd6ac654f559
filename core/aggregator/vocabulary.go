package aggregator

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/servery-hub/servery/core/menu"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// storedPlugins is what the registry says about plugins, also about those that are not installed here. Requests read
// it while Run updates it.
type storedPlugins struct {
	mu           sync.Mutex
	descriptions map[string]storedDescription
	enabled      []string // the first known first

	from       []declarant // that the vocabulary is from
	vocabulary *menu.Vocabulary
	ignored    map[string]string // why the groups of a plugin are ignored, as last reported
}

// storedDescription is the description that a hub last reported.
type storedDescription struct {
	encoded string
	about   *sdk.Description
}

// declarant is a plugin with its current description and the one that a hub last reported. While hubs run different
// versions, both count. Each may be nil.
type declarant struct {
	id              string
	current, stored *sdk.Description
}

// update records the plugins of the registry.
func (s *storedPlugins) update(list []Plugin) error {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Plugin) int {
		return cmp.Or(a.KnownAt.Compare(b.KnownAt), cmp.Compare(a.ID, b.ID))
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.enabled = nil
	known := map[string]storedDescription{}
	for _, p := range list {
		if p.Enabled {
			s.enabled = append(s.enabled, p.ID)
		}
		stored := s.descriptions[p.ID]
		if stored.about == nil || stored.encoded != string(p.Description) {
			stored = storedDescription{string(p.Description), &sdk.Description{}}
			if err := proto.Unmarshal(p.Description, stored.about); err != nil {
				return fmt.Errorf("reading the stored description of plugin %s: %w", p.ID, err)
			}
		}
		if stored.about.GetId() == p.ID {
			known[p.ID] = stored
		}
	}
	s.descriptions = known
	return nil
}

// description returns the description that a hub last reported, or nil.
func (s *storedPlugins) description(id string) *sdk.Description {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.descriptions[id].about
}

// declarants returns the enabled plugins with their stored descriptions.
func (s *storedPlugins) declarants() []declarant {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]declarant, len(s.enabled))
	for i, id := range s.enabled {
		list[i] = declarant{id: id, stored: s.descriptions[id].about}
	}
	return list
}

// Vocabulary returns the words of core and of all enabled plugins, also of those that run only at other replicas. A
// new description counts at once. The groups of a plugin that contradicts an earlier one are left out, with a fault.
func (h *Host) Vocabulary() *menu.Vocabulary {
	from := h.stored.declarants()
	for i := range from {
		from[i].current = h.Plugin(from[i].id).Description()
	}
	vocabulary, faults := h.stored.vocabularyOf(from)
	for id, reason := range faults {
		h.Plugin(id).ReportFault(fmt.Errorf("its key-value groups are ignored: %s", reason))
		h.config.Log.Warn("key-value groups of a plugin ignored", "plugin", id, "error", reason)
	}
	return vocabulary
}

// vocabularyOf returns the vocabulary from descriptions, and the contradictions that were not reported before.
func (s *storedPlugins) vocabularyOf(from []declarant) (vocabulary *menu.Vocabulary, faults map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.vocabulary != nil && slices.Equal(from, s.from) {
		return s.vocabulary, nil
	}
	var declared []menu.Declaration
	vocabulary, _ = menu.NewVocabulary() // core's own groups do not contradict each other
	faults = map[string]string{}
	ignored := map[string]string{}
	for _, d := range from {
		for _, about := range []*sdk.Description{cmp.Or(d.current, d.stored), d.stored} {
			more := append(slices.Clone(declared), declarations(d.id, about)...)
			wider, err := menu.NewVocabulary(more...)
			if err == nil {
				declared, vocabulary = more, wider
			} else if about != d.stored || d.current == nil { // not that of an earlier version
				ignored[d.id] = err.Error()
			}
		}
		if reason := ignored[d.id]; reason != "" && s.ignored[d.id] != reason {
			faults[d.id] = reason
		}
	}
	s.from, s.vocabulary, s.ignored = from, vocabulary, ignored
	return vocabulary, faults
}

func declarations(id string, about *sdk.Description) (list []menu.Declaration) {
	rules := map[pb.ValueRule]menu.ValueRule{
		pb.ValueRule_VALUE_RULE_WHOLE_NUMBER: menu.WholeNumber, pb.ValueRule_VALUE_RULE_ONE_OF: menu.OneOf,
		pb.ValueRule_VALUE_RULE_ANY_TEXT: menu.AnyText,
	}
	for _, group := range about.GetVocabulary() {
		d := menu.Declaration{Group: group.GetGroup(), Platform: id}
		if group.GetOnItem() {
			d.On |= menu.OnItem
		}
		if group.GetOnOption() {
			d.On |= menu.OnOption
		}
		for _, key := range group.GetKeys() {
			d.Keys = append(d.Keys, menu.Key{Name: key.GetName(), Rule: rules[key.GetRule()],
				Allowed: key.GetAllowed()})
		}
		list = append(list, d)
	}
	return list
}
