package ui

import "slices"

// List is a table of rows that can be narrowed, paged and taken away as CSV.
type List struct {
	Name         string // of the file, and for those who do not see the table
	Columns      []Column
	Rows         []Row
	Filters      []Filter
	Clear        string // the address without filters, where any is set
	Older        string // the address of the next page, "" on the last
	First        string // the address of the first page, "" on it
	CSV          string // the address of the list as CSV
	More         string // that it is cut, and where the rest is; "" where it is whole
	EmptyTitle   string
	EmptyText    string
	NoMatchTitle string // said instead where a filter is set; "": that nothing is so
	NoMatchText  string
	Choose       *Button // what can be done to chosen rows
}

// Column is a column of a list.
type Column struct {
	Label string
	Kind  Kind
}

// Kind is how a column is laid out.
type Kind string

// The kinds of columns: Wide takes the room there is.
const (
	Normal Kind = ""
	Wide   Kind = "wide"
	Figure Kind = "figure"
)

// Row is a row of a list; Key is what choosing it sends, Name tells it from others
// to those who hear it.
type Row struct {
	Key   string
	Name  string
	Cells []Cell
}

// Cell is what stands in one place of a list.
type Cell struct {
	Text    string
	Note    string // below, smaller
	Href    string
	Code    bool // an id or an address, in fixed width
	Badge   bool // Text is a state, told by State
	State   State
	Hint    string // of a state: why, where the pointer rests
	Instant *Instant
	Exact   bool // the exact time stands under the one that is told from now
}

// plain is the cell as text, for CSV.
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

// T is a cell of text.
func T(text string) Cell { return Cell{Text: text} }

// LinkCell is a cell that leads somewhere.
func LinkCell(text, href string) Cell { return Cell{Text: text, Href: href} }

// CodeCell is a cell of an id or an address.
func CodeCell(text string) Cell { return Cell{Text: text, Code: true} }

// StateCell is a cell of a state.
func StateCell(state State, text string) Cell { return Cell{Text: text, State: state, Badge: true} }

// TimeCell is a cell of an instant.
func TimeCell(i Instant) Cell { return Cell{Instant: &i} }

// WithExactTime is the cell with its exact time, if it has one.
func (c Cell) WithExactTime() Cell {
	c.Exact = true
	return c
}

// Filter is one way to narrow a list: a choice where it has options, else text.
type Filter struct {
	Name, Label, Value string
	Options            []Option
	Hint               string
	Moment             bool // a day and a time, as MomentForm
}

// MomentLayout is how browsers write a day and a time.
const MomentLayout = "2006-01-02T15:04"

// Option is a choice.
type Option struct{ Value, Label string }

// Button is something that can be done: a form that is posted. Ask asks for a
// reason first.
type Button struct {
	Label       string
	Action      string // the address
	Token       string // proves that the form is ours
	Hidden      []Option
	Fields      []Filter // what else is asked for
	ReasonLabel string   // the label of the reason; "" asks for none
	Help        string   // what it will do, shown before it is done
	Danger      bool

	Problem string // why what was typed is refused; "": nothing was
	Reason  string // the reason as it was typed then
}

// Matches tells whether the form that was sent to an address is this button's.
func (b Button) Matches(address string, value func(name string) string) bool {
	return b.Action == address &&
		!slices.ContainsFunc(b.Hidden, func(h Option) bool { return value(h.Name()) != h.Value })
}

// WithProblem is the button with its form open as it was filled in, and why it was refused.
func (b Button) WithProblem(value func(name string) string, problem string) Button {
	b.Fields = slices.Clone(b.Fields)
	for i, f := range b.Fields {
		b.Fields[i].Value = value(f.Name)
	}
	b.Problem, b.Reason = problem, value("why")
	return b
}

// immediate tells whether the button needs no questions first.
func (b Button) immediate() bool { return b.ReasonLabel == "" && b.Help == "" && len(b.Fields) == 0 }

// Cause is why things are as they are, in one sentence, with the remedy.
type Cause struct {
	State      State
	Text       string
	Detail     string
	Link       Link    // where to go on; zero: nowhere
	SecondLink Link    // where else; zero: nowhere
	Button     *Button // what to do; nil: nothing
}

// Fact is a line about a thing.
type Fact struct {
	Label string
	Cell  Cell
}

// Metric is a number to look at.
type Metric struct {
	Label, Value, Note string
	Href               string
	State              State
}

func (c Column) class() string { return "list-" + string(c.Kind) }

// Name is, of a hidden field, its name.
func (o Option) Name() string { return o.Label }

// prefix keeps the ids of two forms of a page apart.
func (b Button) prefix() string {
	prefix := ""
	for _, r := range b.Label + b.Action {
		if r < 128 && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9') {
			prefix += string(r)
		}
	}
	return prefix + "-"
}
