package storetest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	stored "github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/access"
	"github.com/servery-hub/servery/core/internal/hubtest"
	"github.com/servery-hub/servery/core/internal/postgres"
	accessdb "github.com/servery-hub/servery/core/internal/postgres/access"
	"github.com/servery-hub/servery/core/internal/postgres/menus"
	"github.com/servery-hub/servery/core/internal/postgres/pgtest"
	"github.com/servery-hub/servery/core/menu"
	"github.com/servery-hub/servery/core/webhook"
)

// go test -run Golden -update ./core/internal/postgres rewrites the golden files. Check every
// change of them against the API specification.
var update = flag.Bool("update", false, "rewrite the golden files")

// goldenScript is a sequence of requests to one business; About describes its purpose.
type goldenScript struct {
	About   string
	Country string
	Stores  []string
	Steps   []struct {
		Location string
		Body     json.RawMessage
		Read     []string // read after the step: a location, or a store "on" a platform
	}
}

func TestMenuMatchesGoldenFiles(t *testing.T) {
	if testing.Short() {
		t.Skip(oneGoroutine)
	}
	inputs, err := filepath.Glob("testdata/menu/*.input.json")
	require.NoError(t, err)
	require.NotEmpty(t, inputs)
	db := hubtest.Database(t, nil)
	for _, input := range inputs {
		file := strings.TrimSuffix(input, ".input.json")
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(input)
			require.NoError(t, err)
			var s goldenScript
			require.NoError(t, stored.Unmarshal(body, &s, stored.MatchCaseInsensitiveNames(true),
				stored.RejectUnknownMembers(true)))
			got := formatJSON(s.run(newGoldenHarness(t, db, s.Country)), "") + "\n"
			if *update {
				require.NoError(t, os.WriteFile(file+".golden.json", []byte(got), 0o644))
			}
			want, err := os.ReadFile(file + ".golden.json")
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

// newGoldenHarness returns a harness whose business also sells on two aggregators.
func newGoldenHarness(t *testing.T, db *postgres.DB, country string) *menuHarness {
	t.Helper()
	accounts := access.Access{Keys: accessdb.New(db), Clock: db.Clock()}
	b, err := accounts.CreateBusiness(context.Background(),
		core.Business{Name: "D", Country: country, Timezone: "UTC", Currency: "USD"},
		webhook.NewSecret(), []string{"aggregator-a", "aggregator-b"})
	require.NoError(t, err)
	vocabulary, err := menu.NewVocabulary(pluginGroups...)
	require.NoError(t, err)
	return &menuHarness{t, db, b.ID, menu.IngestPolicy{Vocabulary: vocabulary}}
}

// run sends the requests and returns the results: for each step the callback or the error, and the
// readings. The last result has all readings.
func (s *goldenScript) run(k *menuHarness) map[string]any {
	k.t.Helper()
	for _, ref := range s.Stores {
		k.store(ref)
	}
	stable, steps := renumberedIDs{}, []any{}
	for n, step := range s.Steps {
		result := map[string]any{}
		if refusal := k.refusal(step.Location, step.Body); refusal != nil {
			result["refused"] = refusal
		} else {
			reference := k.enqueue(core.MenuJob, step.Location, string(step.Body), false)
			require.NoError(k.t, k.runJobs())
			callback := decodeExact(k.t, pgtest.EventBody(k.t, k.db, reference)).(map[string]any)
			require.Equal(k.t, reference.String(), callback["reference"])
			callback["reference"] = fmt.Sprintf("of step %d", n+1)
			result["callback"] = stable.replace(callback)
		}
		if len(step.Read) > 0 {
			result["read"] = stable.replace(k.readings(step.Read))
		}
		steps = append(steps, result)
	}
	all := append([]string{menu.MasterLocation}, s.Stores...)
	if len(s.Stores) > 0 {
		all = append(all, s.Stores[0]+" on web", s.Stores[0]+" on aggregator-a")
	}
	return map[string]any{"steps": steps, "in the end": stable.replace(k.readings(all))}
}

// refusal returns the API's error for a malformed request, nil for a valid one.
func (k *menuHarness) refusal(location string, body []byte) any {
	k.t.Helper()
	business, scope, err := menus.New(k.db).ResolveLocation(context.Background(), k.business, location)
	require.NoError(k.t, err)
	_, err = menu.Decode(body, scope, k.rules.RulesFor(business))
	if err == nil {
		return nil
	}
	var rejection *core.Error
	require.True(k.t, errors.As(err, &rejection), "%v", err)
	encoded, err := stored.Marshal(rejection.Violations)
	require.NoError(k.t, err)
	return decodeExact(k.t, encoded)
}

// readings reads locations and effective menus.
func (k *menuHarness) readings(names []string) map[string]any {
	k.t.Helper()
	all := map[string]any{}
	for _, name := range names {
		location, platform, effective := strings.Cut(name, " on ")
		reading := any(k.reading(location))
		if effective {
			reading = k.effective(location, platform)
		}
		encoded, err := stored.Marshal(reading)
		require.NoError(k.t, err)
		all[name] = decodeExact(k.t, encoded)
	}
	return all
}

func (k *menuHarness) reading(location string) menu.APIMenu {
	k.t.Helper()
	records := menus.New(k.db)
	_, scope, err := records.ResolveLocation(context.Background(), k.business, location)
	require.NoError(k.t, err)
	full, err := records.Menu(context.Background(), k.business, scope.StoreID)
	require.NoError(k.t, err)
	return menu.ReadBack(scope, full, menu.View{})
}

func (k *menuHarness) effective(store, platform string) menu.EffectiveMenu {
	k.t.Helper()
	records := menus.New(k.db)
	versions, err := records.Versions(context.Background(), k.business, store, platform)
	require.NoError(k.t, err)
	full, err := records.Menu(context.Background(), k.business, versions.StoreID)
	require.NoError(k.t, err)
	return menu.Effective(store, full, versions.Platform, nil)
}

// decodeExact decodes JSON and preserves the digits of numbers.
func decodeExact(t *testing.T, encoded []byte) (value any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	require.NoError(t, decoder.Decode(&value))
	return value
}

// renumberedIDs replaces ids by 1, 2, 3 and so on in the order of appearance.
type renumberedIDs map[string]int

func (r renumberedIDs) replace(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.SortedFunc(maps.Keys(value), byName) {
			id, isNumber := value[name].(json.Number)
			if name != "id" || !isNumber {
				value[name] = r.replace(value[name])
				continue
			}
			if r[id.String()] == 0 {
				r[id.String()] = len(r) + 1
			}
			value[name] = json.Number(strconv.Itoa(r[id.String()]))
		}
	case []any:
		for i := range value {
			value[i] = r.replace(value[i])
		}
	}
	return value
}

// lineLength is the line width; an object of a menu always takes one line.
const lineLength = 150

// formatJSON formats JSON for readers.
func formatJSON(value any, indent string) string {
	line := oneLine(value)
	object, isObject := value.(map[string]any)
	list, isList := value.([]any)
	if len(indent)+len(line) <= lineLength || isMenu(object) || !isObject && !isList {
		return line
	}
	deeper, brackets := indent+" ", "[]"
	var parts []string
	for _, element := range list {
		parts = append(parts, formatJSON(element, deeper))
	}
	for _, name := range slices.SortedFunc(maps.Keys(object), byName) {
		brackets = "{}"
		parts = append(parts, oneLine(name)+": "+formatJSON(object[name], deeper))
	}
	var b strings.Builder
	b.WriteString(brackets[:1])
	remaining, fitsMore := 0, false // remaining width of the line, and whether more fits on it
	for i, part := range parts {
		short := !strings.Contains(part, "\n") && !(isList && isMenu(list[i]))
		if fitsMore && short && len(part)+2 <= remaining {
			b.WriteString(" " + part)
			remaining -= 2
		} else {
			b.WriteString("\n" + deeper + part)
			remaining = lineLength - len(deeper)
		}
		if i < len(parts)-1 {
			b.WriteString(",")
		}
		remaining, fitsMore = remaining-len(part), short
	}
	return b.String() + "\n" + indent + brackets[1:]
}

// isMenu reports whether a value is an object of a menu.
func isMenu(value any) bool {
	object, _ := value.(map[string]any)
	_, hasRef := object["ref_id"]
	_, hasCode := object["code"]
	return hasRef || hasCode
}

func oneLine(value any) string {
	var parts []string
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.SortedFunc(maps.Keys(value), byName) {
			parts = append(parts, oneLine(name)+": "+oneLine(value[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, element := range value {
			parts = append(parts, oneLine(element))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// firstNames are the keys that come first in an object.
var firstNames = []string{"steps", "in the end", "refused", "callback", "reference", "location_ref_id", "store_ref_id",
	"platform", "stats", "warnings",
	"categories", "items", "option_groups", "options", "taxes", "charges", "ref_id", "code", "id", "upipr_status",
	"title", "name"}

func byName(a, b string) int {
	rank := func(name string) int {
		if at := slices.Index(firstNames, name); at >= 0 {
			return at
		}
		return len(firstNames)
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
}

func TestRandomMenuRequestsKeepTheMenuConsistent(t *testing.T) {
	db := hubtest.Database(t, nil)
	everywhere := []string{"-1", "s1", "s2"}
	rapid.Check(t, func(rt *rapid.T) {
		k := newTwoStores(t, db)
		k.send("-1", dinner)
		for range rapid.IntRange(1, 4).Draw(rt, "requests") {
			location, plain := rapid.SampledFrom(everywhere).Draw(rt, "location"),
				rapid.IntRange(0, 2).Draw(rt, "plain") > 0
			body := drawMenu(rt, plain)
			callback := k.send(location, body)
			first := k.readings(everywhere)
			for _, ref := range everywhere[1:] {
				requireConsistent(rt, k, ref)
			}
			// A category whose parent comes later in the request succeeds the second time.
			if plain && callback["stats"].(map[string]any)["categories"].(map[string]any)["errors"] == 0.0 {
				k.send(location, body)
				require.Equal(rt, first, k.readings(everywhere), "the same again changes nothing")
			}
		}
	})
}

// drawMenu draws a request. With plain set it flushes and clears nothing.
func drawMenu(t *rapid.T, plain bool) string {
	refs := func(kind string, most int) []string {
		known := map[string][]string{
			"categories": {"mains", "hot", "cold", "drinks"}, "items": {"curry", "rice", "tea", "soup"},
			"option_groups": {"size", "extra", "dips"}, "options": {"big", "egg", "mint"},
			"platforms": {"web", "aggregator-a", "nowhere"},
		}[kind]
		return rapid.SliceOfNDistinct(rapid.SampledFrom(known), 0, most, rapid.ID).Draw(t, kind)
	}
	number, boolean := rapid.IntRange(0, 2), rapid.Bool()
	body := map[string]any{}
	objects := func(kind string, flags []string, fields func(o map[string]any)) {
		list := []any{}
		for _, ref := range refs(kind, 2) {
			o := map[string]any{"ref_id": ref, "name": ref, "title": ref, "price": number.Draw(t, "price")}
			fields(o)
			for field := range o {
				if field != "ref_id" && field != "price" && rapid.IntRange(0, 3).Draw(t, field+"?") == 0 {
					delete(o, field)
				}
			}
			for _, name := range flags {
				o[name] = !plain && boolean.Draw(t, name)
			}
			list = append(list, o)
		}
		body[kind], body["flush_"+kind] = list, !plain && number.Draw(t, "flush") == 0
	}
	objects("categories", nil, func(o map[string]any) {
		o["parent_ref_id"] = rapid.SampledFrom([]string{"", "mains",
			"hot"}).Filter(func(s string) bool { return s != o["ref_id"] }).Draw(t, "parent")
		o["active"] = boolean.Draw(t, "active")
	})
	objects("items", []string{"clear_option_groups"}, func(o map[string]any) {
		o["category_ref_ids"], o["available"], o["sold_at_store"] = refs("categories", 2), boolean.Draw(t, "available"),
			boolean.Draw(t, "sold")
		o["current_stock"], o["included_platforms"] = number.Draw(t, "stock"), refs("platforms", 2)
		o["platform_pricing"] = []any{map[string]any{"platform": "aggregator-a",
			"price": number.Draw(t, "platform price")}}
	})
	objects("option_groups", []string{"clear_items", "clear_item_ref_ids", "clear_options"}, func(o map[string]any) {
		o["item_ref_ids"], o["active"] = refs("items", 2), boolean.Draw(t, "active")
	})
	objects("options", []string{"clear_opt_grps", "clear_opt_grp_ref_ids", "clear_nested_opt_grps"},
		func(o map[string]any) {
			o["opt_grp_ref_ids"], o["nested_opt_grps"], o["available"], o["sold_at_store"] = refs("option_groups", 2),
				refs("option_groups", 1), boolean.Draw(t, "available"), boolean.Draw(t, "sold")
		})
	taxes := []any{}
	for _, rate := range rapid.SliceOfNDistinct(number, 0, 2, rapid.ID).Draw(t, "rates") {
		taxes = append(taxes, map[string]any{"code": "ST_P", "title": "Sales Tax",
			"structure": map[string]any{"value": rate}, "item_ref_ids": refs("items", 2)})
	}
	body["taxes"], body["flush_taxes"] = taxes, !plain && boolean.Draw(t, "flush")
	return oneLine(body)
}
