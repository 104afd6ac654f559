package reference

import (
	"strconv"

	"github.com/servery-hub/servery/core/problem"
	"github.com/servery-hub/servery/core/webhook"
)

// errorsPageName is the name of the error page.
const errorsPageName = "errors"

// errorRow is the view model of an error code. Its texts are one-line Markdown.
type errorRow struct {
	id, code, status string
	meaning, cause   string
	remedy           string
}

// errorTable is the error codes of one kind.
type errorTable struct {
	heading heading
	intro   string // Markdown
	rows    []errorRow
}

// errorTables returns the error codes of responses, violations and deliveries.
func errorTables() []errorTable {
	responses := errorTable{heading: heading{2, "responses", "Responses"}, intro: responsesIntro}
	for _, e := range problem.Errors() {
		responses.rows = append(responses.rows, errorRow{
			"status-" + strconv.Itoa(e.Status), string(e.Code), strconv.Itoa(e.Status), e.Meaning, e.Cause, e.Remedy,
		})
	}
	violations := errorTable{heading: heading{2, "violations", "Violations"}, intro: violationsIntro}
	for _, v := range problem.Violations() {
		row := errorRow{id: "violation-" + v.Code, code: v.Code, meaning: v.Meaning, remedy: v.Remedy}
		violations.rows = append(violations.rows, row)
	}
	deliveries := errorTable{heading: heading{2, "deliveries", "Deliveries"}, intro: deliveriesIntro}
	for _, f := range webhook.Failures() {
		class := string(f.Class)
		row := errorRow{id: "delivery-" + class, code: class, meaning: f.Meaning, remedy: f.Remedy}
		deliveries.rows = append(deliveries.rows, row)
	}
	return []errorTable{responses, violations, deliveries}
}

const (
	errorsIntro = "Every error has the same form. `message` is a sentence for people. `errors` lists each violation " +
		"with its `path`, a stable `code` for programs and a `message`."
	responsesIntro  = "The status says what kind of error it is. Decide by the status, not by the text of `message`."
	violationsIntro = "A `400` lists up to 100 violations in `errors`, and `message` names the first. " +
		"A `404` lists the id that is unknown."
	deliveriesIntro = "A delivery that fails has one of these classes in each attempt. " +
		"[Retries](/docs/retries) explains when the hub retries it."
)

// errorsGuide returns the error page.
func errorsGuide() guide {
	tables := errorTables()
	g := guide{name: errorsPageName, title: "Errors", body: errorsPage(tables)}
	for _, t := range tables {
		g.headings = append(g.headings, t.heading)
	}
	return g
}

// entries returns the search entries of the codes.
func (t errorTable) entries(page guide) []entry {
	var list []entry
	for _, row := range t.rows {
		title := row.code
		if row.status != "" {
			title = row.status + " " + title
		}
		list = append(list, entry{
			Title: title, Within: page.title + " › " + t.heading.text, URL: page.path() + "#" + row.id,
			Words: words(title, row.meaning, row.cause, row.remedy),
		})
	}
	return list
}
