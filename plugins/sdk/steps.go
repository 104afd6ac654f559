package sdk

import (
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"

	"golang.org/x/net/http/httpguts"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk/placeholder"
)

// Bounds of plans with steps.
const (
	MaxSteps       = 500
	LongPlan       = 10 // steps; each step of a longer plan but the last has reuse_seconds
	MaxPages       = 50
	MaxTaken       = 16 << 10 // bytes of a taken value
	DefaultTaken   = 1 << 10
	maxStepMembers = 100 // takes, parts, fields and pointers of a step
	maxReuse       = 24 * 3600
)

// Steps returns a plan of several requests, in order.
func Steps(steps ...*Step) *Plan { return &Plan{Steps: steps} }

// LongSteps returns a plan of many requests, in order. Attempts at the call continue where the one before it ended, for
// reuse seconds at most. It sets reuse_seconds of each step but the last.
func LongSteps(reuse uint32, steps ...*Step) *Plan {
	for i := range len(steps) - 1 {
		steps[i].ReuseSeconds = reuse
	}
	return Steps(steps...)
}

// JSONStep returns a step with a JSON body. It panics if the body cannot be encoded, and the caller receives that as an
// error.
func JSONStep(name, method, endpoint, path string, body any) *Step {
	return &Step{Name: name, Method: method, Endpoint: endpoint, Path: path, Body: JSON(body),
		Headers: map[string]string{"Content-Type": "application/json"}}
}

// GetStep returns a step without a body.
func GetStep(name, endpoint, path string) *Step {
	return &Step{Name: name, Method: http.MethodGet, Endpoint: endpoint, Path: path}
}

// TakeValue makes a step take a value of its response for later steps. The pointer is a JSON pointer (RFC 6901). Later
// steps write the value as {step.name}.
func TakeValue(step *Step, name, pointer string) *Take {
	take := &Take{Name: name, JsonPointer: pointer}
	step.Take = append(step.Take, take)
	return take
}

// StepResponse returns the response to a step, or nil if the step has none.
func StepResponse(response *Response, step string) *Response {
	if response.GetStep() == step {
		return response
	}
	for _, r := range response.GetEarlier() {
		if r.GetStep() == step {
			return r
		}
	}
	return nil
}

// CheckSingleStep returns an error if a decision has several requests. A rider's location has only one, because the
// hub does not repeat it.
func CheckSingleStep(decision *Decision) error {
	c := &validation{}
	steps := decision.GetPlan().GetSteps()
	c.check(len(steps) <= 1 && (len(steps) == 0 || steps[0].GetPages() == nil),
		"the plan of a rider's location must be one request, without further steps or pages")
	return c.err()
}

// steps checks the steps of a plan.
func (c *validation) steps(d *Description, plan *Plan) {
	c.check(plan.GetEndpoint() == "" && plan.GetMethod() == "" && plan.GetPath() == "" && plan.GetUrl() == "" &&
		len(plan.GetQuery()) == 0 && len(plan.GetHeaders()) == 0 && len(plan.GetSecretHeaders()) == 0 &&
		len(plan.GetCredentials()) == 0 &&
		plan.GetSuccess() == nil, "a plan with steps must have no other field, except the body")
	c.check(len(plan.GetSteps()) <= MaxSteps, "the plan has %d steps, above the limit of %d", len(plan.GetSteps()),
		MaxSteps)
	known, names := map[placeholder.Value]bool{}, map[string]bool{}
	copies, reused := 0, true // copies of the plan's body
	for i, s := range plan.GetSteps() {
		at := &stepCheck{c, d, s, known, fmt.Sprintf("steps[%d] (name %.64q)", i, s.GetName()), 0}
		c.check(namePattern.MatchString(s.GetName()) && !names[s.GetName()],
			"%s: the name must be lower-case letters, digits and underscores, and unique", at.name)
		names[s.GetName()] = true
		at.request()
		at.body(plan)
		at.pages()
		at.takes()
		c.check(at.placeholders <= placeholder.Max, "%s: has more than %d placeholders", at.name, placeholder.Max)
		copies += copiesOfPlanBody(s)
		c.check(s.GetReuseSeconds() <= maxReuse, "%s: reuse_seconds: must be at most %d", at.name, maxReuse)
		c.check(s.GetReuseSeconds() == 0 || reused && s.GetPages() == nil,
			"%s: reuse_seconds: needs that the steps before it have it too, and no pages", at.name)
		reused = s.GetReuseSeconds() > 0
		c.check(reused || len(plan.GetSteps()) <= LongPlan || i == len(plan.GetSteps())-1,
			"%s: reuse_seconds: is required in a plan with more than %d steps, except at the last", at.name, LongPlan)
	}
	c.check(copies > 0 || len(plan.GetBody()) == 0, "the plan has a body, but no step with plan_body")
	c.check(len(plan.GetBody()) <= MaxMenu/max(copies, 1), "%d places with plan_body have more than %d MiB together",
		copies, MaxMenu>>20)
}

// copiesOfPlanBody returns how many times a step sends the body of its plan.
func copiesOfPlanBody(s *Step) int {
	copies := countTrue(s.GetPlanBody())
	for _, p := range s.GetParts() {
		copies += countTrue(p.GetPlanBody())
	}
	return copies
}

// stepCheck checks a step.
type stepCheck struct {
	*validation
	d     *Description
	step  *Step
	known map[placeholder.Value]bool // values of earlier steps
	name  string

	placeholders int // their number so far
}

// request checks all but the body. The rules are those of a plan with one request.
func (c *stepCheck) request() {
	s := c.step
	request := &Plan{Endpoint: s.GetEndpoint(), Method: s.GetMethod(), Path: s.GetPath(), Query: s.GetQuery(),
		Headers: s.GetHeaders(), SecretHeaders: s.GetSecretHeaders(), Credentials: s.GetCredentials(),
		Success: s.GetSuccess()}
	if s.GetUrl() != "" {
		found := placeholder.Find(s.GetUrl())
		c.check(len(found) == 1 && found[0].String() == s.GetUrl(), "%s: url: must be one placeholder", c.name)
		c.check(s.GetPath() == "", "%s: path: must be empty beside url", c.name)
		request.Path = "/"
		c.uses("url", s.GetUrl())
	}
	inner := &validation{}
	inner.request(c.d, request)
	for _, err := range inner.list {
		c.check(false, "%s: %v", c.name, err)
	}
	c.more += inner.more
	c.usesOnly("path", s.GetPath())
	for name, value := range s.GetQuery() {
		c.usesOnly("query "+name, value)
	}
	for name, value := range s.GetHeaders() {
		c.usesOnly("header "+name, value)
	}
}

// almostPlaceholder matches placeholders and misspelt ones.
var almostPlaceholder = regexp.MustCompile(`\{\s*[\pL\d_-]+\s*\.\s*[\pL\d_-]+\s*\}`)

// usesOnly is uses for a text that must have no misspelt placeholder.
func (c *stepCheck) usesOnly(place, text string) {
	c.uses(place, text)
	for _, found := range almostPlaceholder.FindAllString(text, -1) {
		c.check(len(placeholder.Find(found)) == 1, "%s: %s: %s is no placeholder, which is {step.value} in lower case",
			c.name, place, found)
	}
}

// uses checks that a text names values of earlier steps only.
func (c *stepCheck) uses(place, text string) {
	found := placeholder.Find(text)
	c.placeholders += len(found)
	for _, value := range found {
		c.check(c.known[value], "%s: %s: no earlier step takes %s", c.name, place, value)
	}
}

func countTrue(list ...bool) (n int) {
	for _, is := range list {
		if is {
			n++
		}
	}
	return n
}

func (c *stepCheck) body(plan *Plan) {
	s := c.step
	kinds := countTrue(len(s.GetBody()) > 0, s.GetPlanBody(), len(s.GetForm()) > 0, len(s.GetParts()) > 0)
	c.check(kinds <= 1, "%s: must have at most one of body, plan_body, form and parts", c.name)
	c.check(len(s.GetForm())+len(s.GetParts())+len(s.GetFill()) <= maxStepMembers,
		"%s: has more than %d fields, parts and pointers", c.name, maxStepMembers)
	c.check(!s.GetGzip() || kinds > 0, "%s: gzip needs a body", c.name)
	for name := range s.GetHeaders() {
		name = http.CanonicalHeaderKey(name)
		typed := len(s.GetForm()) > 0 || len(s.GetParts()) > 0
		c.check(!(s.GetGzip() && name == "Content-Encoding") && !(typed && name == "Content-Type"),
			"%s: the hub sets the header %s", c.name, name)
	}
	for _, field := range s.GetForm() {
		c.check(field.GetName() != "", "%s: form: a field needs a name", c.name)
		c.uses("form field "+field.GetName(), field.GetValue())
	}
	for _, part := range s.GetParts() {
		c.part(part)
	}
	c.fill(plan)
}

func (c *stepCheck) part(part *pb.Part) {
	at := fmt.Sprintf("%s: part %.64q", c.name, part.GetName())
	contents := countTrue(part.GetText() != "", len(part.GetContent()) > 0, part.GetPlanBody())
	c.check(contents <= 1, "%s: must have one of text, content and plan_body", at)
	_, _, err := mime.ParseMediaType(part.GetContentType())
	c.check(part.GetContentType() == "" || err == nil && httpguts.ValidHeaderFieldValue(part.GetContentType()),
		"%s: content_type %q is no media type", at, part.GetContentType())
	c.check(part.GetName() != "" && httpguts.ValidHeaderFieldValue(part.GetName()) &&
		httpguts.ValidHeaderFieldValue(part.GetFilename()),
		"%s: needs a name, and name and filename must have no control characters", at)
	c.uses("part "+part.GetName(), part.GetText())
}

// fill checks the strings of a JSON body that have placeholders.
func (c *stepCheck) fill(plan *Plan) {
	s, body := c.step, c.step.GetBody()
	if s.GetPlanBody() {
		body = plan.GetBody()
	}
	c.check(len(s.GetFill()) == 0 || s.GetPlanBody() || len(body) > 0, "%s: fill needs a body or plan_body", c.name)
	pointers := s.GetFill()[:min(len(s.GetFill()), maxStepMembers)]
	found := map[string]string{}
	if len(pointers) > 0 {
		found = stringsAt(body, pointers)
	}
	for i, pointer := range pointers {
		at := c.name + ": fill " + pointer
		c.check(!slices.Contains(pointers[:i], pointer), "%s: is named twice", at)
		if !c.pointer(at, pointer) || len(body) == 0 && s.GetPlanBody() { // the body of a menu is not in its decision
			continue
		}
		text := found[pointer]
		c.check(len(placeholder.Find(text)) > 0, "%s: the body has no string with a placeholder there", at)
		c.uses("fill "+pointer, text)
	}
}

func (c *stepCheck) pages() {
	pages := c.step.GetPages()
	if pages == nil {
		return
	}
	c.pointer(c.name+": pages: cursor_pointer", pages.GetCursorPointer())
	_, taken := c.step.GetQuery()[pages.GetCursorQuery()]
	c.check(pages.GetCursorQuery() != "" && !taken,
		"%s: pages: cursor_query: must name a parameter that the query does not have", c.name)
	c.check(pages.GetMaxPages() >= 1 && pages.GetMaxPages() <= MaxPages, "%s: pages: max_pages: must be from 1 to %d",
		c.name, MaxPages)
	c.check(len(c.step.GetTake()) == 0, "%s: a step with pages must take no values", c.name)
}

// takes checks the values of a step, and makes them known to later steps.
func (c *stepCheck) takes() {
	c.check(len(c.step.GetTake()) <= maxStepMembers, "%s: takes more than %d values", c.name, maxStepMembers)
	for _, take := range c.step.GetTake() {
		at := fmt.Sprintf("%s: take %.64q", c.name, take.GetName())
		value := placeholder.Value{Step: c.step.GetName(), Name: take.GetName()}
		c.check(namePattern.MatchString(take.GetName()) && !c.known[value],
			"%s: the name must be lower-case letters, digits and underscores, and unique", at)
		c.known[value] = true
		c.pointer(at+": json_pointer", take.GetJsonPointer())
		c.check(take.GetMaxLength() <= MaxTaken, "%s: max_length: must be at most %d", at, MaxTaken)
	}
}

// pointer checks a JSON pointer (RFC 6901).
func (c *stepCheck) pointer(at, pointer string) bool {
	c.check(isPointer(pointer), "%s: %q must be a JSON pointer that begins with a slash", at, pointer)
	return isPointer(pointer)
}
