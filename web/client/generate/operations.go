package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// operations writes a method for each operation that requires a key and returns JSON.
func (w *writer) operations() string {
	var out strings.Builder
	for _, path := range slices.Sorted(maps.Keys(w.document.Paths)) {
		item := w.document.Paths[path]
		var shared []parameter
		if node, ok := item["parameters"]; ok {
			_ = node.Decode(&shared)
		}
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			node, ok := item[method]
			var o operation
			if !ok || node.Decode(&o) != nil || strings.Count(path, "/") < 3 || strings.Contains(path, "/callback/") {
				continue
			}
			if o.Responses["200"].Content.json() != nil {
				o.Parameters = append(shared, o.Parameters...)
				out.WriteString(w.call(strings.ToUpper(method), path, o))
			}
		}
	}
	return out.String()
}

// call writes one method and the types that only it uses.
func (w *writer) call(method, path string, o operation) string {
	name := exportedName(o.ID)
	arguments, target, query := "ctx context.Context", fmt.Sprintf("%q", path), ""
	var fields strings.Builder
	for _, p := range o.Parameters {
		if p.Ref != "" {
			p = w.document.Components.Parameters[p.Ref[strings.LastIndexByte(p.Ref, '/')+1:]]
		}
		switch p.In {
		case "path":
			argument := strings.ToLower(exportedName(p.Name)[:1]) + exportedName(p.Name)[1:]
			if argument == "iD" {
				argument = "id"
			}
			kind, value := "string", "url.PathEscape("+argument+")"
			if slices.Equal(p.Schema.Type, kinds{"integer"}) {
				kind, value = "int64", "strconv.FormatInt("+argument+", 10)"
			}
			arguments += ", " + argument + " " + kind
			target = strings.ReplaceAll(target, "{"+p.Name+"}", `"+`+value+`+"`)
		case "query":
			if p.Name == "wait" { // the context contains it
				query += "\tputWait(ctx, values)\n"
				continue
			}
			kind := w.typeOf("", p.Schema)
			if !slices.Contains([]string{"string", "int64", "bool"}, kind) {
				kind = "string"
			}
			fmt.Fprintf(&fields, "\t%s %s // %s\n", exportedName(p.Name), kind, firstSentence(p.Description))
			query += fmt.Sprintf("\tput(values, %q, query.%s)\n", p.Name, exportedName(p.Name))
		}
	}
	values, body := "nil", "nil"
	if query != "" {
		values, query = "values", "\tvalues := url.Values{}\n"+query
	}
	if fields.Len() > 0 {
		arguments += ", query " + name + "Query"
		w.types[name+"Query"] = fmt.Sprintf("// %sQuery has the query parameters of %s. Zero values are not sent.\n"+
			"type %sQuery struct {\n%s}\n\n", name, name, name, fields.String())
	}
	if s := o.RequestBody.Content.json(); s != nil {
		arguments += ", body " + w.typeOf(name+"Body", s)
		body = "body"
	}
	result := w.typeOf(name+"Answer", o.Responses["200"].Content.json())
	return fmt.Sprintf("// %s calls %s %s: %s.\n// A status other than 200 returns an *APIError.\n"+
		"func (c *Client) %s(%s) (answer %s, err error) {\n"+
		"%s\terr = c.do(ctx, call{%q, %s, %s, %s}, &answer)\n\treturn answer, err\n}\n\n",
		name, method, path, strings.TrimSuffix(firstSentence(o.Summary), "."), name, arguments,
		result, query, method, target, values, body)
}
