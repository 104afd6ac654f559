package ui

import (
	"slices"

	"github.com/a-h/templ"

	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/core"
)

// List is a table with filters, pages and a CSV download.
type List struct {
	Name         string // of the CSV file, and for screen readers
	Columns      []Column
	Rows         []Row
	Filters      []Filter
	Views        templ.Component // the saved views; nil: none
	Periods      []Period        // links to time ranges
	PeriodsLabel string          // what the times are
	Clear        string          // URL without filters; "" if none is set
	Older        string          // URL of the next page; "" on the last
	First        string          // URL of the first page; "" on it
	CSV          string          // URL of the CSV file
	More         string          // that rows are missing, and where they are; "" if none are
	EmptyTitle   string
	EmptyText    string
	NoMatchTitle string // instead of EmptyTitle if a filter is set; "": a standard text
	NoMatchText  string
	Choose       *Button // action on selected rows; nil: none
	ChooseAll    Link    // to an action on all rows that match; zero: none

	Sorts    []Sort   // the orders that an index serves; the first is the default
	Sort     string   // the present one
	Shown    []string // keys of the columns to show; nil: those that are not Extra
	Chooser  *Chooser // selects columns; nil: none
	Progress *Progress
}

// Sort is an order of a list, by a column.
type Sort struct {
	Value     string
	Column    string // its key
	Ascending bool
	Temporary bool // needs a filter, so that a form with other filters does not keep it
}

// Progress is how far a search came.
type Progress struct {
	Text     string
	Continue Link // zero: nothing is left to search
}

// Chooser is the form that selects the columns of a list.
type Chooser struct {
	Action, Token, List string
}

// Period is a link to the rows of a time range.
type Period struct {
	Link
	Current bool
}

// Column is a column of a list.
type Column struct {
	Label string
	Kind  Kind
	Key   string // identifies the column for the user's choice; "": it cannot be chosen
	Extra bool   // shown only when chosen

	sortHref, sorted string // of the link that sorts by it, and how it is sorted now; "": not
}

// Kind is the layout of a column.
type Kind string

// The kinds of columns besides the usual one, "". Wide takes the remaining width.
const (
	Wide   Kind = "wide"
	Figure Kind = "figure"
)

// Row is a row of a list. Key is the value that selecting it submits. Name identifies the row for screen readers.
type Row struct {
	Key    string
	Name   string
	Cursor string // of the page after the row
	Cells  []Cell
}

// Add adds a row to a list that shows all of its rows.
func (l *List) Add(cells ...Cell) { l.AddAt("", cells...) }

// AddAt adds a row with its cursor.
func (l *List) AddAt(cursor string, cells ...Cell) {
	l.Rows = append(l.Rows, Row{Cursor: cursor, Cells: cells})
}

// Cell is a cell of a list.
type Cell struct {
	Text    string
	Note    string // below the text, smaller
	Below   Link   // the same, as a link
	Href    string
	Code    bool // an id or a URL, in fixed width
	Badge   bool // shows State and Text as a badge
	State   State
	Hint    string // tooltip of a badge: the reason
	Instant *Instant
	Exact   bool // also shows the exact time
}

// plain returns the cell as text, for CSV.
func (c Cell) plain() string {
	text := c.Text
	if c.Instant != nil && !c.Instant.At.IsZero() {
		text = c.Instant.At.UTC().Format("2006-01-02T15:04:05.000Z07:00")
	}
	for _, more := range []string{c.Note, c.Hint} {
		if more != "" {
			text += " (" + more + ")"
		}
	}
	return text
}

// T returns a cell with a text.
func T(text string) Cell { return Cell{Text: text} }

// LinkCell returns a cell with a link.
func LinkCell(text, href string) Cell { return Cell{Text: text, Href: href} }

// CodeCell returns a cell with an id or a URL.
func CodeCell(text string) Cell { return Cell{Text: text, Code: true} }

// StateCell returns a cell with a badge.
func StateCell(state State, text string) Cell { return Cell{Text: text, State: state, Badge: true} }

// TimeCell returns a cell with an instant.
func TimeCell(i Instant) Cell { return Cell{Instant: &i} }

// WithExactTime returns the cell with its exact time, if it has one.
func (c Cell) WithExactTime() Cell {
	c.Exact = true
	return c
}

// Filter is a field of a form: a select if it has options, else a text field.
type Filter struct {
	Name, Label, Value string
	Options            []Option
	Hint               string
	Moment             bool // a date and time in MomentLayout
	Box                bool // a box; Value is not empty if it is ticked
	Hidden             bool
}

// inUse describes the filters of a list that are set, and its time range.
func (l List) inUse() []string {
	var used []string
	for _, p := range l.Periods {
		if p.Current {
			used = append(used, l.PeriodsLabel+": "+p.Label)
		}
	}
	for _, f := range l.Filters {
		if f.Value == "" || f.Hidden {
			continue
		}
		value := f.Value
		for _, o := range f.Options {
			if o.Value == f.Value {
				value = o.Label
			}
		}
		used = append(used, f.Label+": "+value)
	}
	return used
}

// MomentLayout is the layout of the value of a datetime-local input.
const MomentLayout = "2006-01-02T15:04"

// ExactLayout is MomentLayout with an offset. Views and URLs have times in it, because their readers may have another
// zone, and an hour occurs twice when the clock goes back.
const ExactLayout = MomentLayout + "Z07:00"

// Option is an option of a select, or a name and value.
type Option struct{ Value, Label string }

// CheckOption returns Invalid if the value is not that of an option.
func CheckOption(options []Option, value string) error {
	if !slices.ContainsFunc(options, func(o Option) bool { return o.Value == value }) {
		return core.Errorf(core.Invalid, text.FilterOption, value)
	}
	return nil
}

// Button is an action: a form that is posted. It asks for a reason if it has a ReasonLabel.
type Button struct {
	Label       string
	Action      string // URL
	Token       string // of PageContext.Token
	Hidden      []Option
	Fields      []Filter // further input
	ReasonLabel string   // "": no reason needed
	Help        string   // what the action does
	Danger      bool
	Key         string // keyboard shortcut that opens the form; "": none

	Problem string // why the submitted form was rejected; "" if it was not
	Reason  string // as submitted with a rejected form
}

// NotBlank is the pattern of a reason: a browser does not send one without letters, which the hub would reject.
const NotBlank = `.*\S.*`

// versionFields are hidden fields with a state that a form has shown. It may have changed since.
var versionFields = []string{"seen", "count"}

// Matches reports whether a form submitted to a URL is that of this button.
func (b Button) Matches(address string, value func(name string) string) bool {
	return b.Action == address &&
		!slices.ContainsFunc(b.Hidden, func(h Option) bool {
			return !slices.Contains(versionFields, h.Name()) && value(h.Name()) != h.Value
		})
}

// WithProblem returns the button with its rejected form open and filled in.
func (b Button) WithProblem(value func(name string) string, problem string) Button {
	b.Fields = slices.Clone(b.Fields)
	for i, f := range b.Fields {
		b.Fields[i].Value = value(f.Name)
	}
	b.Problem, b.Reason = problem, value("why")
	return b
}

// immediate reports whether the button acts without asking for anything.
func (b Button) immediate() bool { return b.ReasonLabel == "" && b.Help == "" && len(b.Fields) == 0 }

// Cause is the reason for a state, in one sentence, with the remedy.
type Cause struct {
	State      State
	Text       string
	Detail     string
	Link       Link    // zero: none
	SecondLink Link    // zero: none
	Button     *Button // the remedy; nil: none
}

// Fact is a property of an object.
type Fact struct {
	Label string
	Cell  Cell
}

// Metric is a number with its label.
type Metric struct {
	Label, Value, Note string
	Href               string
	State              State
}

func (c Column) class() string { return "list-" + string(c.Kind) }

// Name returns the name of a hidden field.
func (o Option) Name() string { return o.Label }

// prefix makes the ids of two forms of a page distinct.
func (b Button) prefix() string {
	prefix := ""
	for _, r := range b.Label + b.Action {
		if r < 128 && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9') {
			prefix += string(r)
		}
	}
	return prefix + "-"
}
