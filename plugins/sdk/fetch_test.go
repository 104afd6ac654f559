package sdk

import (
	"testing"

	"github.com/stretchr/testify/require"

	pb "github.com/servery-hub/servery/plugins/proto"
)

func TestFetchIsCheckedLikeAPlan(t *testing.T) {
	about := &Description{Capabilities: []string{CapabilityOrderFetch},
		Endpoints: []*pb.Endpoint{{Name: "api", Hosts: []string{"api.example.com"}}}}
	link := func(change func(*Plan)) *Translation {
		plan := &Plan{Endpoint: "api", Method: "GET", Url: "https://api.example.com/orders/1"}
		change(plan)
		translation, err := Fetch(plan, "L-1")
		require.NoError(t, err)
		return translation
	}
	good := link(func(*Plan) {})
	require.NoError(t, CheckResult(about, good))
	require.NoError(t, CheckResult(about, link(func(p *Plan) { p.Method, p.Url, p.Path = "POST", "", "/orders/1" })))
	require.NoError(t, CheckResult(about, &Translation{Meaning: &pb.Translation_Fetch{Fetch: &pb.Fetch{
		Plan: Steps(GetStep("a", "api", "/a"), GetStep("b", "api", "/b"))}}}))
	require.ErrorContains(t, CheckResult(&Description{Endpoints: about.GetEndpoints()}, good), CapabilityOrderFetch)
	for message, wrong := range map[string]*Translation{
		"must be GET or POST":               link(func(p *Plan) { p.Method = "DELETE" }),
		`endpoint "other" is not declared`:  link(func(p *Plan) { p.Endpoint = "other" }),
		"path must be empty beside url":     link(func(p *Plan) { p.Path = "/orders/1" }),
		"must begin with a slash":           link(func(p *Plan) { p.Url = "" }),
		"a decision is a plan, or a reason": {Meaning: &pb.Translation_Fetch{Fetch: &pb.Fetch{}}},
	} {
		require.ErrorContains(t, CheckResult(about, wrong), message)
	}
	steps := Steps(GetStep("a", "api", "/a"), JSONStep("b", "PUT", "api", "/b", nil))
	require.ErrorContains(t, CheckResult(about, &Translation{Meaning: &pb.Translation_Fetch{
		Fetch: &pb.Fetch{Plan: steps}}}), "must be GET or POST")

	require.ErrorContains(t, CheckFetched(good), "after a fetch")
	ignored, _ := Ignored("a ping")
	require.NoError(t, CheckFetched(ignored))
	ignored.Reply = Reply(200, "text/plain", nil)
	require.ErrorContains(t, CheckFetched(ignored), "already answered")
}
