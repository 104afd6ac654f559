// Command stepped is a plugin of an aggregator whose API needs several requests. It creates an upload, and then sends
// the menu to it as CSV.
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

type plugin struct{}

func main() { sdk.Serve(plugin{}) }

// Describe returns the plugin's description.
func (plugin) Describe(context.Context) (*sdk.Description, error) {
	token := sdk.WebToken("partner", "signing_key", sdk.Claim("aud", "stepped"), sdk.SecretClaim("kid", "key_id"))
	token.GetJwt().KeyEncoding = pb.JsonWebTokenKey_JSON_WEB_TOKEN_KEY_BASE64
	return &sdk.Description{
		Id: "stepped", Version: "1.0.0", DisplayName: "Aggregator with uploads",
		Endpoints: []*pb.Endpoint{{Name: "api", Hosts: []string{"127.0.0.1"}}, {Name: "items",
			Hosts: []string{"127.0.0.1"}, RateLimit: &pb.RateLimit{Requests: 100, PeriodSeconds: 1, Burst: 20}}},
		Secrets: []*pb.Secret{{Name: "signing_key"}, {Name: "key_id"}, {Name: "client_id"},
			{Name: "client_secret"}},
		Credentials: []*sdk.Credential{token,
			sdk.ClientCredentials("granted", "api", "/oauth/token", "client_id", "client_secret")},
		SettingsSchema: []byte(`{"type":"object","examples":[{}]}`),
	}, nil
}

// Render plans an upload of the menu, and a job that reads it.
func (plugin) Render(_ context.Context, call *sdk.Call, menu *sdk.Menu) (*sdk.Decision, error) {
	create := sdk.JSONStep("create", http.MethodPost, "api", "/uploads",
		map[string]string{"key": call.GetIdempotencyKey()})
	create.Credentials = []string{"partner"}
	sdk.TakeValue(create, "id", "/upload/id").MaxLength = 64
	sdk.TakeValue(create, "key", "/upload/key").Secret = true
	upload := &sdk.Step{Name: "upload", Endpoint: "api", Method: http.MethodPut, Path: "/uploads/{create.id}/menu",
		Headers: map[string]string{"X-Upload-Key": "{create.key}"}, Gzip: true,
		Credentials: []string{"granted"}, Parts: []*pb.Part{{Name: "upload", Text: "{create.id}"},
			{Name: "menu", Filename: "menu.csv", ContentType: "text/csv", PlanBody: true}}}
	start := sdk.JSONStep("start", http.MethodPost, "api", "/jobs", map[string]string{"upload": "{create.id}"})
	start.Fill = []string{"/upload"}
	jobs := sdk.GetStep("jobs", "api", "/jobs")
	jobs.Pages = &pb.Pages{CursorPointer: "/next", CursorQuery: "cursor", MaxPages: 5}
	plan := sdk.Steps(create, upload, start, jobs)
	for _, item := range menu.GetItems() {
		plan.Body = fmt.Appendf(plan.Body, "%s;%s;{create.id}\n", item.GetRefId(), item.GetPrice())
	}
	return sdk.Send(plan)
}

// InterpretPublish says what each step returned.
func (plugin) InterpretPublish(_ context.Context, _ *sdk.Call, response *sdk.Response) (*sdk.PublishOutcome, error) {
	said := steps(response)
	if response.GetStep() != "jobs" {
		return &sdk.PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_RETRY, Message: said}, nil
	}
	said += fmt.Sprintf(", %d pages", len(response.GetPages()))
	return &sdk.PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE, Message: said,
		Errors: []*sdk.PublishError{{Entity: "menu", Code: "steps", Message: said}}}, nil
}

// steps lists the steps of a response with their status.
func steps(response *sdk.Response) string {
	var said []string
	for _, r := range append(response.GetEarlier(), response) {
		said = append(said, fmt.Sprintf("%s %d", r.GetStep(), r.GetStatus()))
	}
	return strings.Join(said, ", ")
}

// PlanRiderStatus creates a rider, and then changes it.
func (plugin) PlanRiderStatus(_ context.Context, r *pb.RiderStatusRequest) (*sdk.Decision, error) {
	create := sdk.JSONStep("create", http.MethodPost, "api", "/riders", map[string]string{"name": r.GetRiderName()})
	sdk.TakeValue(create, "id", "/id")
	create.ReuseSeconds = 300
	change := sdk.JSONStep("change", http.MethodPut, "api", "/riders/{create.id}/status",
		map[string]string{"status": r.GetStatus()})
	return sdk.Send(sdk.Steps(create, change))
}

// PlanItemAction changes each item by a request of its own.
func (plugin) PlanItemAction(_ context.Context, r *pb.ItemActionRequest) (*sdk.Decision, error) {
	var steps []*sdk.Step
	for n, id := range r.GetItemRefIds() {
		steps = append(steps, sdk.JSONStep(fmt.Sprint("item_", n), http.MethodPost, "items",
			"/items/"+url.PathEscape(id), map[string]bool{"available": r.GetAvailable()}))
	}
	return sdk.Send(sdk.LongSteps(3600, steps...))
}

// PlanAcknowledge opens an order, and then confirms it.
func (plugin) PlanAcknowledge(_ context.Context, r *pb.AcknowledgeRequest) (*sdk.Decision, error) {
	path := "/orders/" + url.PathEscape(r.GetOrder().GetPlatformOrderId())
	return sdk.Send(sdk.Steps(sdk.JSONStep("open", http.MethodPost, "api", path, r.GetAccepted()),
		sdk.JSONStep("confirm", http.MethodPut, "api", path, r.GetAccepted())))
}

// InterpretAcknowledge needs the responses to both steps.
func (plugin) InterpretAcknowledge(_ context.Context, _ *sdk.Call,
	response *sdk.Response) (*sdk.PublishOutcome, error) {
	said := steps(response)
	if said != "open 202, confirm 202" {
		return &sdk.PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_FAILED, Message: "the steps are: " + said}, nil
	}
	return &sdk.PublishOutcome{State: pb.OutcomeState_OUTCOME_STATE_DONE}, nil
}
