package sdk

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	pb "github.com/servery-hub/servery/plugins/proto"
)

// uploadPlan creates an upload, sends a menu to it, and lists what the aggregator has.
func uploadPlan() *Plan {
	create := JSONStep("create", "POST", "api", "/uploads", map[string]string{"kind": "menu"})
	TakeValue(create, "id", "/id")
	TakeValue(create, "url", "/links/0/url").Secret = true
	upload := &Step{Name: "upload", Endpoint: "api", Method: "PUT", Url: "{create.url}", PlanBody: true, Gzip: true,
		Headers: map[string]string{"X-Upload": "{create.id}"}, Credentials: []string{"partner"}}
	fields := &Step{Name: "fields", Endpoint: "api", Method: "POST", Path: "/uploads/{create.id}/end",
		Parts: []*pb.Part{{Name: "id", Text: "{create.id}"}, {Name: "menu", Filename: "menu.csv",
			ContentType: "text/csv", PlanBody: true}}}
	start := JSONStep("start", "POST", "api", "/jobs", map[string]any{"upload": "{create.id}"})
	start.Fill = []string{"/upload"}
	list := GetStep("list", "api", "/jobs")
	list.Query = map[string]string{"upload": "{create.id}"}
	list.Pages = &pb.Pages{CursorPointer: "/next", CursorQuery: "cursor", MaxPages: MaxPages}
	plan := Steps(create, upload, fields, start, list)
	plan.Body = []byte("a;b")
	return plan
}

func TestPlansWithStepsAreChecked(t *testing.T) {
	check := func(plan *Plan) error {
		decision, err := Send(plan)
		require.NoError(t, err)
		return CheckDecision(withCredentials(), decision)
	}
	require.NoError(t, check(uploadPlan()))
	for why, change := range map[string]func(p *Plan, s []*Step){
		"a plan with steps must have no other field": func(p *Plan, _ []*Step) {
			p.Path = "/a"
		},
		"the plan has 501 steps, above the limit of 500": func(p *Plan, s []*Step) {
			p.Steps = LongSteps(60, manySteps(MaxSteps+1)...).Steps
			p.Body = nil
		},
		`steps[0] (name "create"): reuse_seconds: is required in a plan with more`: func(p *Plan, s []*Step) {
			p.Steps = append(p.Steps, manySteps(11)[:6]...)
		},
		"reuse_seconds: must be at most 86400": func(_ *Plan, s []*Step) {
			s[0].ReuseSeconds = 86401
		},
		"the plan has a body, but no step with plan_body": func(p *Plan, s []*Step) {
			p.Steps = s[:1]
		},
		`steps[1] (name "create"): the name must be`: func(_ *Plan, s []*Step) {
			s[1].Name = "create"
		},
		`steps[0] (name "Create"): the name must be`: func(_ *Plan, s []*Step) {
			s[0].Name = "Create"
		},
		`(name "upload"): url: must be one placeholder`: func(_ *Plan, s []*Step) {
			s[1].Url = "https://{create.id}"
		},
		`(name "upload"): url: no earlier step takes {start.id}`: func(_ *Plan, s []*Step) {
			s[1].Url = "{start.id}"
		},
		`(name "fields"): path: no earlier step takes {create.ref}`: func(_ *Plan, s []*Step) {
			s[2].Path = "/{create.ref}"
		},
		`header X-Upload: no earlier step takes {upload.id}`: func(_ *Plan, s []*Step) {
			s[1].Headers["X-Upload"] = "{upload.id}"
		},
		`part id: no earlier step takes {list.id}`: func(_ *Plan, s []*Step) {
			s[2].Parts[0].Text = "{list.id}"
			TakeValue(s[4], "id", "/id")
			s[4].Pages = nil
		},
		`(name "fields"): has more than 200 placeholders`: func(_ *Plan, s []*Step) {
			s[2].Parts[0].Text = strings.Repeat("{create.id}", 100)
			s[2].Query = map[string]string{"upload": strings.Repeat("{create.id}", 100)} // and one in the path
		},
		`fill /upload: no earlier step takes {none.id}`: func(_ *Plan, s []*Step) {
			s[3].Body = []byte(`{"upload":"{none.id}"}`)
		},
		`fill /upload: the body has no string`: func(_ *Plan, s []*Step) {
			s[3].Body = []byte(`{"upload":"x"}`)
		},
		`fill upload: "upload" must be a JSON pointer`: func(_ *Plan, s []*Step) {
			s[3].Fill = []string{"upload"}
		},
		`fill /upload: is named twice`: func(_ *Plan, s []*Step) {
			s[3].Fill = []string{"/upload", "/upload"}
		},
		`query upload: no earlier step takes {fields.id}`: func(_ *Plan, s []*Step) {
			s[4].Query["upload"] = "{fields.id}"
		},
		`must have at most one of body, plan_body, form and`: func(_ *Plan, s []*Step) {
			s[3].PlanBody = true
		},
		`gzip needs a body`: func(_ *Plan, s []*Step) {
			s[4].Gzip = true
		},
		`the hub sets the header Content-Encoding`: func(_ *Plan, s []*Step) {
			s[1].Headers["content-encoding"] = "br"
		},
		`the hub sets the header Content-Type`: func(_ *Plan, s []*Step) {
			s[2].Headers = map[string]string{"Content-Type": "a/b"}
		},
		`part "menu": must have one of text, content and`: func(_ *Plan, s []*Step) {
			s[2].Parts[1].Text = "x"
		},
		`part "menu": content_type "csv/" is no media type`: func(_ *Plan, s []*Step) {
			s[2].Parts[1].ContentType = "csv/"
		},
		`part "": needs a name`: func(_ *Plan, s []*Step) {
			s[2].Parts[1].Name = ""
		},
		`pages: cursor_pointer: "next" must be a JSON pointer`: func(_ *Plan, s []*Step) {
			s[4].Pages.CursorPointer = "next"
		},
		`pages: cursor_query: must name a parameter that the`: func(_ *Plan, s []*Step) {
			s[4].Pages.CursorQuery = "upload"
		},
		`pages: max_pages: must be from 1 to 50`: func(_ *Plan, s []*Step) {
			s[4].Pages.MaxPages = 51
		},
		`a step with pages must take no values`: func(_ *Plan, s []*Step) {
			TakeValue(s[4], "id", "/id")
		},
		`take "id": the name must be`: func(_ *Plan, s []*Step) {
			TakeValue(s[0], "id", "/other")
		},
		`take "id": json_pointer: "/~2" must be a JSON pointer`: func(_ *Plan, s []*Step) {
			s[0].Take[0].JsonPointer = "/~2"
		},
		`take "id": max_length: must be at most 16384`: func(_ *Plan, s []*Step) {
			s[0].Take[0].MaxLength = MaxTaken + 1
		},
		`(name "create"): the plan's endpoint "none" is not`: func(_ *Plan, s []*Step) {
			s[0].Endpoint = "none"
		},
		`(name "upload"): the plan's credential "x" is not`: func(_ *Plan, s []*Step) {
			s[1].Credentials = []string{"x"}
		},
		`(name "create"): the plan's path "uploads" must begin`: func(_ *Plan, s []*Step) {
			s[0].Path = "uploads"
		},
		`(name "create"): the plan's success rule names the sta`: func(_ *Plan, s []*Step) {
			s[0].Success = &SuccessRule{Statuses: []int32{1}}
		},
	} {
		plan := proto.CloneOf(uploadPlan())
		change(plan, plan.Steps)
		require.ErrorContains(t, check(plan), why)
	}
}

func TestCopiesOfAPlansBodyAreBounded(t *testing.T) {
	for _, row := range []struct {
		parts, body int
		valid       bool
	}{{0, MaxMenu, true}, {1, MaxMenu / 2, true}, {1, MaxMenu/2 + 1, false}, {99, MaxMenu / 100, true},
		{99, MaxMenu/100 + 1, false}} {
		plan := Steps(&Step{Name: "menu", Endpoint: "api", Method: "PUT", Path: "/menu", PlanBody: true},
			&Step{Name: "file", Endpoint: "api", Method: "PUT", Path: "/file"})
		plan.Body = make([]byte, row.body)
		for range row.parts {
			plan.Steps[1].Parts = append(plan.Steps[1].Parts, &pb.Part{Name: "menu", PlanBody: true})
		}
		decision, err := Send(plan)
		require.NoError(t, err)
		if err = CheckDecision(withCredentials(), decision); row.valid {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "places with plan_body have more than 64 MiB together")
		}
	}
}

func TestManyPlaceholdersAreRejectedInLittleMemory(t *testing.T) {
	plan := uploadPlan()
	plan.Steps[2].Parts[0].Text = strings.Repeat("{create.id}", 100_000)
	decision, err := Send(plan)
	require.NoError(t, err)
	used := allocated(func() { err = CheckDecision(withCredentials(), decision) })
	require.ErrorContains(t, err, "has more than 200 placeholders")
	require.Less(t, used, uint64(1<<20))
}

func TestStringsOfLargeBodiesNeedLittleMemory(t *testing.T) {
	body := `{"a":"{create.id}","b":[` + strings.Repeat(`{"n":1},`, 20_000) + `1]}`
	for name, body := range map[string]string{"wide": body, "deep": strings.Repeat("[", 20<<20)} {
		plan := uploadPlan()
		plan.Steps[1].Fill, plan.Body = []string{"/a"}, []byte(body)
		for i := range 50 {
			plan.Steps[1].Fill = append(plan.Steps[1].Fill, "/none/"+strconv.Itoa(i))
		}
		decision, err := Send(plan)
		require.NoError(t, err)
		used := allocated(func() { err = CheckDecision(withCredentials(), decision) })
		require.ErrorContains(t, err, "/none/49: the body has no string with a placeholder there", name)
		require.Less(t, used, uint64(20<<20), name)
	}
}

func manySteps(count int) (steps []*Step) {
	for n := range count {
		steps = append(steps, GetStep("s"+strconv.Itoa(n), "api", "/a"))
	}
	return steps
}

func TestLongPlansReuseTheirSteps(t *testing.T) {
	plan := LongSteps(60, manySteps(MaxSteps)...)
	decision, err := Send(plan)
	require.NoError(t, err)
	require.NoError(t, CheckDecision(withCredentials(), decision))
	require.Zero(t, plan.Steps[MaxSteps-1].GetReuseSeconds())
}

func TestStringsAreFoundAsTheHubFindsThem(t *testing.T) {
	for body, found := range map[string]bool{`{"upload":{"id":["x"]}}`: true, `{"upload":"x"}`: false,
		`{"upload":{"id":"x"}}`: false, `{"upload":{"id":["x"],"id":["x"]}}`: false, `{"a":[{"b":1,"b":2}]}`: false,
		"{\"upload\":{\"id\":[\"\xff\"]}}": false, `{"upload":{"id":["x"]}} {}`: false, `{"upload":`: false} {
		text := stringsAt([]byte(body), []string{"/upload", "/upload/id/0"})["/upload/id/0"]
		require.Equal(t, found, text == "x", body)
	}
	for _, index := range []string{"00", "+0", "-0", "2", "", "99999999999"} {
		require.Empty(t, stringsAt([]byte(`["x","y"]`), []string{"/" + index}), index)
	}
	all := map[string]string{"/a~1b/~0": "1", "/a~1b/": "2", "/a": "3", "/a~1b/c/1": "4"}
	require.Equal(t, all, stringsAt([]byte(`{"a/b":{"~":"1","":"2","c":[{"a":"5"},"4",[]]},"a":"3","b":"6","c":{}}`),
		append(slices.Collect(maps.Keys(all)), "/b/a", "/c")))
}

func TestMisspeltPlaceholdersAreRejected(t *testing.T) {
	for text, valid := range map[string]bool{"/{create.id}": true, "/{create.ID}": false, "/{Create.id}": false,
		"/{ create.id }": false, "/{store}": true} {
		plan := uploadPlan()
		plan.Steps[2].Path = text
		decision, err := Send(plan)
		require.NoError(t, err)
		if err = CheckDecision(withCredentials(), decision); !valid {
			require.ErrorContains(t, err, "is no placeholder", text)
		} else {
			require.NoError(t, err, text)
		}
	}
}

func TestRiderLocationHasOneRequest(t *testing.T) {
	for _, row := range []struct {
		plan  *Plan
		valid bool
	}{{&Plan{Path: "/a"}, true}, {Steps(manySteps(11)[0]), true}, {Steps(manySteps(11)...), false},
		{Steps(uploadPlan().Steps[4]), false}} {
		decision, err := Send(row.plan)
		require.NoError(t, err)
		require.Equal(t, row.valid, CheckSingleStep(decision) == nil)
	}
}

func TestResponsesAreFoundByTheirStep(t *testing.T) {
	response := &Response{Step: "upload", Status: 200, Earlier: []*Response{{Step: "create", Status: 201}}}
	require.EqualValues(t, 200, StepResponse(response, "upload").GetStatus())
	require.EqualValues(t, 201, StepResponse(response, "create").GetStatus())
	require.Nil(t, StepResponse(response, "start"))
}

func TestInvalidWebTokensAreRejected(t *testing.T) {
	valid := func() (*Description, *JsonWebToken) {
		d := withCredentials()
		d.SettingsSchema = []byte(`{"type":"object","properties":{"developer":{"type":"string"},` +
			`"n":{"type":"integer"}}}`)
		token := WebToken("market", "key", Claim("aud", "doordash"), SecretClaim("kid", "id"),
			&pb.JsonWebTokenClaim{Name: "iss", Setting: "developer"})
		d.Credentials = append(d.Credentials, token)
		return d, token.GetJwt()
	}
	d, _ := valid()
	require.NoError(t, CheckDescription(d))
	require.Equal(t, []string{"Authorization"}, CredentialHeaders(d.Credentials[len(d.Credentials)-1]))
	for why, change := range map[string]func(token *JsonWebToken){
		`secret "none": is not declared`: func(token *JsonWebToken) { token.Secret = "none" },
		"key_encoding 9: is not known":   func(token *JsonWebToken) { token.KeyEncoding = 9 },
		"lifetime_seconds: must be from 30": func(token *JsonWebToken) {
			token.LifetimeSeconds = 3601
		},
		`template: "x" must have {token}`: func(token *JsonWebToken) { token.Template = "x" },
		`claim "exp": must be unique`: func(token *JsonWebToken) {
			token.Claims[0].Name = "exp"
		},
		`claim "kid": must be unique`: func(token *JsonWebToken) {
			token.Claims[0].Name = "kid"
		},
		`claim aud: secret "none": is not`: func(token *JsonWebToken) {
			token.Claims[0].Secret = "none"
		},
		`claim "kid": needs one of value`: func(token *JsonWebToken) {
			token.Claims[1].Value = "x"
		},
		`claim "iss": the setting "n" must be a`: func(token *JsonWebToken) {
			token.Claims[2].Setting = "n"
		},
		`parameter "alg": is set by the hub`: func(token *JsonWebToken) {
			token.Parameters = map[string]string{"alg": "none"}
		},
		"header Host is set by the hub":             func(token *JsonWebToken) { token.Header = "Host" },
		"claim \"\": must be unique, and not a tim": func(token *JsonWebToken) { token.Claims[0].Name = "" },
	} {
		d, token := valid()
		change(token)
		require.ErrorContains(t, CheckDescription(d), why)
	}
}
