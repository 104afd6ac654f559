package menu

import (
	"os"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/servery-hub/servery/core"
)

func fakeVocabulary(tb testing.TB) *Vocabulary {
	tb.Helper()
	v, err := NewVocabulary(fakeDeclarations()...)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// fakeDeclarations returns declarations like those of plugins.
func fakeDeclarations() []Declaration {
	nutrition := Declaration{Group: "NutritionalInfo", On: OnItem, Platform: "aggregator-a"}
	for _, name := range []string{"caffeine_mg", "msg_mg", "polyols_mg", "polydextrose_mg", "artificialsweetener_mg",
		"carbohydrate_mg", "protein_mg", "cholesterol_mg", "saturatedfat_mg", "fat_mg", "transfat_mg", "sodium_mg",
		"fiber_mg", "calorie_kcal"} {
		nutrition.Keys = append(nutrition.Keys, Key{Name: name})
	}
	return []Declaration{nutrition, {Group: "Additional Info", On: OnItem, Platform: "aggregator-b", Keys: []Key{
		{Name: "accompaniments"}, {Name: "quantity"},
		{Name: "quantity_unit", Rule: OneOf, Allowed: []string{
			"kg", "ounces", "pounds", "pieces", "scoop", "litre", "ml", "gram", "inches", "slices"}},
	}}}
}

func realFile(tb testing.TB, name string) []byte {
	tb.Helper()
	body, err := os.ReadFile("../../../shared/data/" + name)
	if os.IsNotExist(err) {
		tb.Skip("no " + name + " here")
	}
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

func BenchmarkDecode(b *testing.B) {
	body := realFile(b, "menu-max.json")
	rules := Rules{Country: "IN", Vocabulary: fakeVocabulary(b)}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(body, MasterScope(), rules); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	body := realFile(b, "menu-max.json")
	request, err := Decode(body, MasterScope(), Rules{Country: "IN", Vocabulary: fakeVocabulary(b)})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		var id int64
		Decide(request, State{}, func() int64 { id++; return id })
	}
}

func BenchmarkEffective(b *testing.B) {
	h := newMemoryDB(b, fakeVocabulary(b), "IN")
	body := string(realFile(b, "menu-max.json"))
	h.send("S1", body)
	stored := h.menu("S1")
	b.Run("Effective", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Effective("S1", stored, core.Platform{Name: "tasty-eats", ServedBy: "aggregator-b"}, nil)
		}
	})
	b.Run("Encode", func(b *testing.B) {
		effective := Effective("S1", stored, core.Platform{Name: "tasty-eats", ServedBy: "aggregator-b"}, nil)
		for b.Loop() {
			encoded, err := effective.Encode()
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(encoded)))
		}
	})
	b.Run("DecodeStored", func(b *testing.B) {
		var records []string
		for i := range stored.Options {
			record, err := json.Marshal(stored.Options[i])
			if err != nil {
				b.Fatal(err)
			}
			records = append(records, string(record))
		}
		b.ReportAllocs()
		for b.Loop() {
			for _, record := range records {
				if err := DecodeStored(record, new(Option)); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("ReadBack", func(b *testing.B) {
		for b.Loop() {
			if _, err := json.Marshal(ReadBack(MasterScope(), stored, View{})); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("DecideAgain", func(b *testing.B) {
		request, err := Decode([]byte(body), MasterScope(), h.rules)
		if err != nil {
			b.Fatal(err)
		}
		state := h.load(request)
		b.ReportAllocs()
		for b.Loop() {
			Decide(request, state, func() int64 { return 0 })
		}
	})
	b.Run("Callback", func(b *testing.B) {
		request, plan := h.send(MasterLocation, body)
		for b.Loop() {
			if _, err := Callback(core.NewID(time.Unix(0, 0)), request, plan, Findings{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
