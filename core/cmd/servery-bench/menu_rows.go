package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
)

// menuRow is one object of a menu, its members as they came.
type menuRow map[string]json.RawMessage

// menuRows is a menu in the shape in which it is sent.
type menuRows struct {
	Categories   []menuRow `json:"categories"`
	Items        []menuRow `json:"items"`
	OptionGroups []menuRow `json:"option_groups"`
	Options      []menuRow `json:"options"`
	Taxes        []menuRow `json:"taxes,omitempty"`
	Charges      []menuRow `json:"charges,omitempty"`
}

// readMenu is the menu that is measured, and where it is from: the file, less
// the key-value groups that core does not know, or generated where there is no
// such file.
func readMenu(file string) (*menuRows, string, error) {
	origin := "real"
	content, err := []byte(nil), fs.ErrNotExist
	if file != "" {
		content, err = os.ReadFile(file)
	}
	if errors.Is(err, fs.ErrNotExist) {
		origin = "generated"
		content, err = json.Marshal(generatedMenu())
	}
	if err != nil {
		return nil, "", err
	}
	var rows menuRows
	if err := json.Unmarshal(content, &rows); err != nil {
		return nil, "", fmt.Errorf("reading the menu: %w", err)
	}
	if len(rows.Items) < storeItems || len(rows.Options) == 0 {
		return nil, "", fmt.Errorf("%s holds no menu large enough", file)
	}
	for _, row := range slices.Concat(rows.Items, rows.Options) {
		if err := row.keepCoreGroups(); err != nil {
			return nil, "", err
		}
	}
	return &rows, origin, nil
}

// coreGroups are the key-value groups that the hub knows without plugins.
var coreGroups = []string{"Servings", "Nutrition", "Deposit"}

// keepCoreGroups drops the key-value groups that only plugins declare.
func (r menuRow) keepCoreGroups() error {
	if r["key_value_groups"] == nil {
		return nil
	}
	var groups []menuRow
	if err := json.Unmarshal(r["key_value_groups"], &groups); err != nil {
		return fmt.Errorf("the key-value groups of %s: %w", r["ref_id"], err)
	}
	kept := slices.DeleteFunc(groups, func(group menuRow) bool { return !slices.Contains(coreGroups, group.text("group")) })
	r.set("key_value_groups", kept)
	return nil
}

// text is a member that is a string; "" where there is none.
func (r menuRow) text(member string) (s string) {
	_ = json.Unmarshal(r[member], &s)
	return s
}

// texts is a member that is a list of strings.
func (r menuRow) texts(member string) (list []string) {
	_ = json.Unmarshal(r[member], &list)
	return list
}

func (r menuRow) number(member string) (n float64) {
	_ = json.Unmarshal(r[member], &n)
	return n
}

func (r menuRow) set(member string, value any) {
	encoded, err := unescaped(value)
	if err != nil {
		panic(err) // it is made of what was just read
	}
	r[member] = encoded
}

// with is a copy of the row in which one member is another.
func (r menuRow) with(member string, value any) menuRow {
	other := make(menuRow, len(r))
	for name, v := range r {
		other[name] = v
	}
	other.set(member, value)
	return other
}

// unescaped is the value as JSON in which <, > and & stand for themselves, as
// clients send them.
func unescaped(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// body is the menu as a request.
func (m *menuRows) body() ([]byte, error) { return unescaped(m) }

// objects counts the objects of all kinds.
func (m *menuRows) objects() int {
	return len(m.Categories) + len(m.Items) + len(m.OptionGroups) + len(m.Options) + len(m.Taxes) + len(m.Charges)
}

// shape says what the menu is made of, for notes.
func (m *menuRows) shape() string {
	return fmt.Sprintf("%d items, %d options, %d objects", len(m.Items), len(m.Options), m.objects())
}

// changed is the menu with another price or title of each hundredth item and
// option. Every number gives other values.
func (m *menuRows) changed(number int) *menuRows {
	other := *m
	other.Items, other.Options = changedRows(m.Items, number), changedRows(m.Options, number)
	return &other
}

func changedRows(rows []menuRow, number int) []menuRow {
	other := slices.Clone(rows)
	for i := 50; i < len(rows); i += 100 {
		if i/100%2 == 0 {
			price := strconv.FormatFloat(rows[i].number("price")+float64(number)/4, 'f', 2, 64)
			other[i] = rows[i].with("price", json.RawMessage(price))
		} else {
			other[i] = rows[i].with("title", fmt.Sprintf("%s (%d)", rows[i].text("title"), number))
		}
	}
	return other
}

// itemsAlone is a menu of the first n items, for a request to one store.
func (m *menuRows) itemsAlone(n int) map[string][]menuRow {
	return map[string][]menuRow{"items": m.Items[:n]}
}
