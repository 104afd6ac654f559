package aggregator

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/servery-hub/servery/core/relay"
	"github.com/servery-hub/servery/core/step"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

// stepsOf converts the steps of a plan, which the SDK has checked.
func stepsOf(about *sdk.Description, plan *sdk.Plan) (steps []relay.Step, err error) {
	for _, s := range plan.GetSteps() {
		request, err := planOf(about, &sdk.Plan{Endpoint: s.GetEndpoint(), Method: s.GetMethod(), Path: s.GetPath(),
			Query: s.GetQuery(), Headers: s.GetHeaders(), SecretHeaders: s.GetSecretHeaders(),
			Credentials: s.GetCredentials(), Success: s.GetSuccess()})
		if err != nil {
			return nil, err
		}
		out := relay.Step{Name: s.GetName(), Request: *request, URL: s.GetUrl(), Body: bodyOf(s, plan.GetBody()),
			Reuse: time.Duration(s.GetReuseSeconds()) * time.Second}
		for _, t := range s.GetTake() {
			out.Take = append(out.Take, step.Take{Name: t.GetName(), Pointer: t.GetJsonPointer(),
				MaxLength: int(cmp.Or(t.GetMaxLength(), sdk.DefaultTaken)), Optional: t.GetOptional(),
				Secret: t.GetSecret()})
		}
		if pages := s.GetPages(); pages != nil {
			out.Pages = relay.Pages{Pointer: pages.GetCursorPointer(), Query: pages.GetCursorQuery(),
				Max: int(pages.GetMaxPages())}
		}
		steps = append(steps, out)
	}
	return steps, nil
}

// bodyOf converts the body of a step of a plan with a body.
func bodyOf(s *sdk.Step, planBody []byte) step.Body {
	body := step.Body{Raw: s.GetBody(), Fill: s.GetFill(), Gzip: s.GetGzip()}
	if s.GetPlanBody() {
		body.Raw = planBody
	}
	for _, f := range s.GetForm() {
		body.Form = append(body.Form, step.Field{Name: f.GetName(), Value: f.GetValue()})
	}
	for _, p := range s.GetParts() {
		part := step.Part{Name: p.GetName(), Filename: p.GetFilename(), ContentType: p.GetContentType(),
			Text: p.GetText(), Content: p.GetContent()}
		if p.GetPlanBody() {
			part.Content = planBody
		}
		body.Parts = append(body.Parts, part)
	}
	return body
}

// responseForPlugin converts a response, with those of earlier steps.
func responseForPlugin(r relay.Response) *sdk.Response {
	out := &sdk.Response{Status: int32(r.Status), Headers: headersForPlugin(r.Headers), Body: r.Body,
		Step: r.Step, Pages: r.Pages}
	for _, earlier := range r.Earlier {
		out.Earlier = append(out.Earlier, responseForPlugin(earlier))
	}
	return out
}

// contentOf returns all that a plan sends, and where to.
func contentOf(plan *relay.Plan, access relay.Access) []string {
	content := []string{access.BaseURLs[plan.Endpoint], plan.Method, plan.Path, string(plan.Body)}
	for _, pairs := range []map[string]string{plan.Query, plan.Headers} {
		for _, name := range slices.Sorted(maps.Keys(pairs)) {
			content = append(content, name, pairs[name])
		}
	}
	if plan.URL != "" {
		content = append(content, plan.URL)
	}
	for i := range plan.Steps {
		s := &plan.Steps[i]
		content = append(content, contentOf(&s.Request, access)...)
		content = append(content, s.Name, s.URL, string(s.Body.Raw), strconv.FormatBool(s.Body.Gzip),
			strings.Join(s.Body.Fill, " "), s.Pages.Query)
		for _, f := range s.Body.Form {
			content = append(content, f.Name, f.Value)
		}
		for _, p := range s.Body.Parts {
			content = append(content, p.Name, p.Filename, p.ContentType, p.Text, string(p.Content))
		}
		for _, t := range s.Take {
			content = append(content, t.Name, t.Pointer)
		}
	}
	return content
}

// webTokenOf converts a JSON Web Token, which the SDK has checked.
func webTokenOf(t *sdk.JsonWebToken) *relay.WebToken {
	out := &relay.WebToken{Secret: t.GetSecret(),
		Base64:     t.GetKeyEncoding() == pb.JsonWebTokenKey_JSON_WEB_TOKEN_KEY_BASE64,
		Parameters: t.GetParameters(), Lifetime: time.Duration(sdk.WebTokenLifetime(t)) * time.Second,
		Header: sdk.WebTokenHeader(t), Template: sdk.WebTokenTemplate(t)}
	for _, c := range t.GetClaims() {
		out.Claims = append(out.Claims, relay.Claim{Name: c.GetName(), Value: c.GetValue(), Secret: c.GetSecret(),
			Setting: c.GetSetting()})
	}
	return out
}
