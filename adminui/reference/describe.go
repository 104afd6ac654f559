package reference

import (
	"fmt"
	"strings"
	"time"
)

// httpOperation is an operation with its HTTP method.
type httpOperation struct {
	method string
	*operation
}

// operations returns the operations of a path, POST first.
func (p pathItem) operations() []httpOperation {
	var list []httpOperation
	for _, each := range []httpOperation{{"POST", p.Post}, {"GET", p.Get}, {"PUT", p.Put}, {"PATCH", p.Patch},
		{"DELETE", p.Delete}} {
		if each.operation != nil {
			list = append(list, each)
		}
	}
	return list
}

// describe builds the view model of an operation.
func (d *document) describe(o httpOperation, path orderedEntry[pathItem], base string,
	callback bool) (operationView, error) {
	view := operationView{
		id: o.ID, method: o.method, path: path.name, summary: o.Summary, description: o.Description, callback: callback,
		facts: o.facts(path.name, callback),
	}
	var parameters []*parameter
	for _, listed := range append(path.value.Parameters, o.Parameters...) {
		p, err := d.parameter(listed)
		if err != nil {
			return view, err
		}
		parameters = append(parameters, p)
	}
	var err error
	if view.tables, err = d.parameterTables(o.ID, parameters); err != nil {
		return view, err
	}
	var bodies []example
	if o.RequestBody != nil && len(o.RequestBody.Content) > 0 {
		body := o.RequestBody.Content[0].value
		if view.tables, err = d.bodyTable(view.tables, o.ID+"-body", body); err != nil {
			return view, err
		}
		bodies = examplesOf(body)
	}
	if callback {
		view.requests = callbackRequests(parameters, bodies)
	} else {
		view.requests = curlCommand{base, o.method, path.name, o.Security == nil, parameters, bodies}.examples()
	}
	for _, each := range o.Responses {
		a, err := d.describeResponse(o.ID+"-"+strings.ToLower(each.name), each.name, each.value)
		if err != nil {
			return view, err
		}
		view.responses = append(view.responses, a)
	}
	return view, nil
}

// anyScope is the x-scope of operations open to all keys.
const anyScope = "any"

func (o *operation) facts(path string, callback bool) []fact {
	switch {
	case callback:
		events := "`" + path + "`"
		if o.EventNumber != 0 {
			events += fmt.Sprintf(", also by its number `%d`", o.EventNumber)
		}
		return []fact{{"Sent to", "webhooks subscribed to " + events}, {"Signed", "by the secret of the webhook"}}
	case o.Security != nil:
		return []fact{{"Key", "none needed"}}
	}
	list := []fact{{"Key", "scope `" + o.Scope + "`"}}
	if o.Scope == anyScope {
		list[0].text = "any scope"
	}
	if r := o.RateLimit; r != nil {
		text := fmt.Sprintf("%d in %s for the %s", r.Limit, durationText(r.Window), r.CountedBy)
		if r.Block > 0 {
			text += "; then blocked for " + durationText(r.Block)
		}
		list = append(list, fact{"Limit", text + ". Set by `" + r.Setting + "`"})
	}
	return list
}

// durationText returns a number of seconds in words.
func durationText(seconds int) string {
	switch span := time.Duration(seconds) * time.Second; {
	case span == time.Hour:
		return "an hour"
	case span == time.Minute:
		return "a minute"
	default:
		return fmt.Sprintf("%d seconds", seconds)
	}
}

// parameterTables returns one table each for path, query and header parameters.
func (d *document) parameterTables(id string, parameters []*parameter) ([]table, error) {
	var tables []table
	for _, place := range []struct{ in, title string }{{"path", "Path"}, {"query", "Query"}, {"header", "Headers"}} {
		t := table{id: id + "-" + place.in, title: place.title}
		for _, p := range parameters {
			if p.In != place.in {
				continue
			}
			f, err := d.namedField(p.Name, p)
			if err != nil {
				return nil, err
			}
			t.fields = append(t.fields, f)
		}
		if len(t.fields) > 0 {
			tables = append(tables, t)
		}
	}
	return tables, nil
}

// namedField returns the field of a parameter or header.
func (d *document) namedField(name string, p *parameter) (field, error) {
	s, err := d.schema(p.Schema)
	if err != nil {
		return field{}, err
	}
	f, err := d.field(s)
	f.name, f.required, f.description = name, p.Required, p.Description
	return f, err
}

// bodyTable appends the table of the fields of a body, if it has any.
func (d *document) bodyTable(tables []table, id string, m media) ([]table, error) {
	if m.Schema == nil {
		return tables, nil
	}
	s, err := d.schema(m.Schema)
	if err != nil {
		return nil, err
	}
	fields, err := d.fields(s)
	if err != nil || len(fields) == 0 {
		return tables, err
	}
	return append(tables, table{id, "Body", fields}), nil
}

// describeResponse builds the view model of a response.
func (d *document) describeResponse(id, status string, r *response) (responseView, error) {
	a := responseView{id: id, status: status, text: r.Description}
	if r.Ref != "" {
		target, ok := d.Components.Responses.get(component(r.Ref))
		if !ok {
			return a, fmt.Errorf("%s does not exist", r.Ref)
		}
		a.shared, a.id, a.text = true, "answer-"+slug(component(r.Ref)), target.Description
		return a, nil
	}
	headers := table{id: id + "-headers", title: "Headers"}
	for _, each := range r.Headers {
		p, err := d.header(each.value)
		if err != nil {
			return a, err
		}
		f, err := d.namedField(each.name, p)
		if err != nil {
			return a, err
		}
		headers.fields = append(headers.fields, f)
	}
	for _, content := range r.Content {
		var err error
		if a.tables, err = d.bodyTable(a.tables, id+"-body", content.value); err != nil {
			return a, err
		}
		a.examples = append(a.examples, examplesOf(content.value)...)
	}
	if len(headers.fields) > 0 {
		a.tables = append(a.tables, headers)
	}
	return a, nil
}

// callbackRequests returns the example requests of a callback, with headers and body.
func callbackRequests(parameters []*parameter, bodies []example) []example {
	head := "POST /hooks/servery\nContent-Type: application/json\n"
	for _, p := range parameters {
		if p.In == "header" && len(p.Example) > 0 {
			head += p.Name + ": " + plainValue(p.Example) + "\n"
		}
	}
	list := make([]example, len(bodies))
	for i, body := range bodies {
		list[i] = example{"What arrives", head + "\n" + body.text}
	}
	return list
}
