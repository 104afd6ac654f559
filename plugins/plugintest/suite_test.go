package plugintest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/plugins/plugintest"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

func failures(t *testing.T, p sdk.Plugin, o plugintest.Options) map[string]string {
	t.Helper()
	return driverFailures(t, plugintest.InProcess(p), o)
}

func driverFailures(t *testing.T, d plugintest.Driver, o plugintest.Options) map[string]string {
	t.Helper()
	failed := map[string]string{}
	require.NoError(t, plugintest.Check(t.Context(), d, o, func(r plugintest.Result) {
		if r.Error != "" {
			failed[r.Check] = r.Error
		}
	}))
	return failed
}

func TestCompliantPluginPasses(t *testing.T) {
	for _, p := range []sdk.Plugin{compliant{}, requiresSetting{},
		offersAction{examples: `,"examples":[{"minutes":5}]`},
		offersAction{examples: `,"examples":[{"minutes":5}]`, partnerOnly: true}, inlinesGroups{},
		interpretsDelay{offersAction{examples: `,"examples":[{"minutes":5}]`},
			pb.OutcomeState_OUTCOME_STATE_DONE}} {
		require.Empty(t, failures(t, p, plugintest.Options{}), "%T", p)
	}
}

func TestEveryBrokenRuleIsFound(t *testing.T) {
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	for name, c := range map[string]struct {
		plugin sdk.Plugin
		check  string
		says   string
	}{
		"a schema without examples": {withoutExamples{}, "settings are accepted and refused as their schema says",
			"at least one is needed"},
		"an example that is refused": {rejectsExample{}, "settings are accepted and refused as their schema says",
			"an example of the schema is rejected"},
		"an answer that changes": {countsCalls{calls: &atomic.Int64{}},
			"same question, same answer, in any order and at the same time",
			"returns another response to the same request"},
		"an answer with the time": {usesClock{since: time.Now()},
			"same question, same answer, more than a second later", "returns another response to the same request"},
		"updates that are counted": {countsCalls{calls: &atomic.Int64{}}, "duplicated and disordered rider updates",
			"responds depending on earlier requests"},
		"statuses that are refused": {refusesRiders{}, "duplicated and disordered rider updates",
			"ASSIGNED of the self-delivery order 9 1/2? is rejected"},
		"settings that are kept": {remembersSettings{last: &atomic.Value{}},
			"settings of one business do not reach another", "returns another response"},
		"a currency that is kept": {remembersCurrency{last: &atomic.Value{}},
			"settings of one business do not reach another", "returns another response"},
		"an action without a result": {interpretsDelay{}, "answers are complete, and plans name what is declared",
			"the outcome's state 0 is none"},
		"a panic": {panics{}, "absent capabilities answer Unimplemented, and no other",
			"the plugin panicked: unexpected"},
		"an endpoint of nobody": {undeclaredEndpoint{}, "answers are complete, and plans name what is declared",
			`endpoint "elsewhere" is not declared`},
		"a path of plain text": {unescapedPath{}, "answers are complete, and plans name what is declared",
			"its segments must be escaped"},
		"a credential of nobody": {undeclaredCredential{},
			"answers are complete, and plans name what is declared",
			`credential "partner" is not declared`},
		"an order of nothing": {translates{&sdk.Translation{}},
			"answers are complete, and plans name what is declared", "neither that it is an order"},
		"an amount that is none": {translates{&sdk.Translation{Meaning: &pb.Translation_Order{
			Order: &sdk.NewOrder{OrderTotal: "12,50"}}}},
			"answers are complete, and plans name what is declared", `order_total: "12,50" is no decimal number`},
		"an order of no items": {translates{&sdk.Translation{Meaning: &pb.Translation_Order{
			Order: &sdk.NewOrder{PlatformOrderId: "1", StoreRefId: "s"}}}},
			"answers are complete, and plans name what is declared", "items: at least one is required"},
		"a reply that is a page": {translates{&sdk.Translation{
			Meaning: &pb.Translation_Ignored{Ignored: "a ping"}, Reply: sdk.Reply(200, "text/html", nil)}},
			"answers are complete, and plans name what is declared", `Content-Type "text/html"`},
		"a callback that nobody reads": {translates{&sdk.Translation{
			Meaning: &pb.Translation_Callback{Callback: &pb.ActionCallback{}}}},
			"answers are complete, and plans name what is declared", "needs the capability action_callback"},
		"an order id without a slash": {orderIDWithoutSlash{},
			"the description is complete, constant and equals the manifest", "order_id: must begin with a slash"},
		"XML that is a fault": {failsAtXML{}, "absent capabilities answer Unimplemented, and no other",
			"an invalid request must return InvalidArgument"},
		"a finding without words": {emptyFinding{}, "a menu of 10,000 items", "needs a rule and a message"},
		"an outcome without a state": {emptyOutcome{}, "answers are complete, and plans name what is declared",
			"the outcome's state 0 is none"},
		"a log that repeats people": {logsRiderName{}, "the log is readable and holds nothing of what was asked",
			"repeats the request"},
		"a finding on another's item": {unknownItem{}, "a menu of 10,000 items",
			`"nobody-asked", which it was not asked about`},
		"a goroutine that stays": {leavesGoroutines{forever: forever}, "nothing is left behind",
			"found unexpected goroutines"},
		"an action without examples": {offersAction{}, "repeated actions give the same plan",
			"delay_order: parameters_schema: examples: at least one is needed"},
		"an example that is no action": {offersAction{examples: `,"examples":[{"minutes":5},{"minutes":13}]`},
			"repeated actions give the same plan", "is offered, but rejected"},
		"an action that is not there": {plansNothing{}, "repeated actions give the same plan", "not rejected"},
	} {
		t.Run(name, func(t *testing.T) {
			alone := c.check
			if alone == "nothing is left behind" { // leftovers of another check
				alone = "duplicated and disordered rider updates"
			}
			require.Contains(t, failures(t, c.plugin, plugintest.Options{}.Only(alone))[c.check], c.says)
		})
	}
}

// unsortedMap writes a map in its iteration order.
type unsortedMap struct{ compliant }

func (unsortedMap) PlanRiderStatus(context.Context, *pb.RiderStatusRequest) (*sdk.Decision, error) {
	body := ""
	for key := range map[string]bool{"a": true, "b": true, "c": true, "d": true, "e": true, "f": true, "g": true} {
		body += key
	}
	return sdk.Send(&sdk.Plan{Endpoint: "api", Method: "POST", Path: "/", Body: []byte(body)})
}

func TestUnsortedMapIsNamed(t *testing.T) {
	const check = "same question, same answer, in any order and at the same time"
	require.Contains(t, failures(t, unsortedMap{}, plugintest.Options{}.Only(check))[check],
		"it writes a map without sorting it")
}

// logsBody logs the part of an inbound body that a test selects.
type logsBody struct {
	compliant
	part func(body []byte) string
}

func (l logsBody) Translate(ctx context.Context, _ *sdk.Call, r *sdk.InboundRequest) (*sdk.Translation, error) {
	sdk.Logger(ctx).Info("order", "part", l.part(r.GetBody()))
	return sdk.Ignored("a test")
}

func TestLoggedPersonalDataIsFound(t *testing.T) {
	const check = "the log is readable and holds nothing of what was asked"
	for body, says := range map[string]string{
		`{"customer":{"full_name":"Ann Smith"},"item":"Dal Makhani"}`: "repeats the value of customer.full_name",
		`{"drop":{"street":"12 Harbour Street"}}`:                     "repeats the value of drop.street",
		`{"buyer":[{"phone_number":"+14155550100"}]}`:                 "repeats the value of buyer.phone_number",
		`{"rider":{"mobile":4155550100}}`:                             "repeats the value of rider.mobile",
		"<order><customer name=\"Ann Smith\"/></order>":               "repeats the value of order.customer.name",
		"<order><street>12 Harbour Street</street></order>":           "repeats the value of order.street",
		"phone=4155550100&item=dal":                                   "repeats the value of phone",
		"customer_name=Ann+Smith":                                     "repeats the value of customer_name",
	} {
		dir := t.TempDir()
		input := fmt.Sprintf(`{"method":"Orders.Translate","request":{"request":{"kind":"orders","body":%q}}}`, body)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a.input.json"), []byte(input), 0o600))
		whole := func(body []byte) string { return string(body) }
		options := plugintest.Options{Golden: dir}.Only(check)
		found := failures(t, logsBody{part: whole}, options)[check]
		require.Contains(t, found, "the log repeats", body)
		value := func(original []byte) string {
			for _, personal := range []string{"Ann Smith", "12 Harbour Street", "+14155550100", "4155550100"} {
				if strings.Contains(strings.ReplaceAll(string(original), "Ann+", "Ann "), personal) {
					return personal
				}
			}
			return ""
		}
		require.Contains(t, failures(t, logsBody{part: value}, options)[check], says, body)
	}
}

// reportsDeadline puts whether its deadline is at most 4 s into its plan.
type reportsDeadline struct{ compliant }

func (reportsDeadline) PlanRiderStatus(ctx context.Context, _ *pb.RiderStatusRequest) (*sdk.Decision, error) {
	until, _ := ctx.Deadline()
	return sdk.Send(sdk.JSONPlan("POST", "api", "/rider", time.Until(until) <= 4*time.Second))
}

func TestTestCallsUseTheHubsDeadline(t *testing.T) {
	running, err := plugintest.InProcess(reportsDeadline{}).Start()
	require.NoError(t, err)
	defer func() { require.NoError(t, running.Stop()) }()
	question, err := plugintest.ParseRequest([]byte(`{"method":"Riders.PlanStatus","request":{}}`))
	require.NoError(t, err)
	answer, err := question.ResultJSON(t.Context(), running.Client)
	require.NoError(t, err)
	require.Contains(t, string(answer), `"body": "true"`)
}

func TestManifestMismatchIsFound(t *testing.T) {
	about, err := compliant{}.Describe(t.Context())
	require.NoError(t, err)
	about.Protocol, about.Capabilities = sdk.Protocol, sdk.Capabilities(compliant{})
	manifest := sdk.ManifestOf(about, sdk.TransportMTLS)
	require.Empty(t, failures(t, compliant{}, plugintest.Options{Manifest: manifest}))
	manifest.Version = "1.0.1"
	failed := failures(t, compliant{}, plugintest.Options{Manifest: manifest})
	require.Equal(t, `version: the manifest says "1.0.1", the plugin "1.0.0"`,
		failed["the description is complete, constant and equals the manifest"])
}

func TestUnreadableManifestBesideAProgramIsAnError(t *testing.T) {
	dir := t.TempDir()
	path, manifest := filepath.Join(dir, "sound"), filepath.Join(dir, sdk.ManifestName)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	found, err := plugintest.Find(path)
	require.NoError(t, err)
	require.Equal(t, plugintest.Program{Path: path}, found)
	require.NoError(t, os.WriteFile(manifest, []byte("id: [sound"), 0o600))
	_, err = plugintest.Find(path)
	require.ErrorContains(t, err, manifest)
}

func TestGoldenMismatchNamesItsLine(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) { require.NoError(t, os.WriteFile(dir+"/"+name, []byte(text), 0o600)) }
	write("rider.input.json", `{"method":"Riders.PlanStatus","request":{"status":"DELIVERED"}}`)
	options := plugintest.Options{Golden: dir, Update: true}
	require.Empty(t, failures(t, compliant{}, options))
	options.Update = false
	require.Empty(t, failures(t, compliant{}, options))
	write("rider.input.json", `{"method":"Riders.PlanStatus","request":{"status":"ASSIGNED"}}`)
	found := failures(t, compliant{}, options)["golden answers"]
	require.Contains(t, found, "rider: line 4 differs (- expected, + got):\n")
	require.Contains(t, found, "- "+`      "body": "\"DELIVERED\"",`+"\n+ "+`      "body": "\"ASSIGNED\"",`)
}

func TestObsoleteGoldenFilesAreNamed(t *testing.T) {
	dir := t.TempDir()
	input, golden := dir+"/order.input.json", dir+"/order.golden.json"
	require.NoError(t, os.WriteFile(input, []byte(`{"method":"Orders.Translate","request":{}}`), 0o600))
	for _, update := range []bool{false, true} {
		require.Equal(t,
			map[string]string{"golden answers": "order: the plugin has no order_translate, " +
				"but calls Orders.Translate: implement it, or delete " +
				input + " and " + golden}, failures(t, compliant{}, plugintest.Options{Golden: dir, Update: update}))
		require.NoFileExists(t, golden)
	}
}

func TestMissingGoldenFileNamesTheUpdateCommand(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/rider.input.json", []byte(`{"method":"Riders.PlanStatus","request":{}}`),
		0o600))
	require.Equal(t, map[string]string{"golden answers": "rider: there is no " + dir +
		"/rider.golden.json: run go test -update, or servery plugin run PROGRAM " + dir + "/rider.input.json > " +
		dir + "/rider.golden.json"},
		failures(t, compliant{}, plugintest.Options{Golden: dir}))
}

func TestGoldenDirectoryWithoutInputsIsAnError(t *testing.T) {
	dir := t.TempDir()
	for _, golden := range []string{dir, filepath.Join(dir, "missing")} {
		err := plugintest.Check(t.Context(), plugintest.InProcess(compliant{}), plugintest.Options{Golden: golden},
			func(r plugintest.Result) { t.Error(r) })
		require.ErrorContains(t, err, golden+": there is no such directory, or no NAME.input.json in it")
	}
	beside := filepath.Join(dir, "testdata") // may be for something else
	require.NoError(t, os.Mkdir(beside, 0o700))
	require.Empty(t, plugintest.Program{Path: filepath.Join(dir, "sound")}.Golden())
	require.NoError(t, os.WriteFile(filepath.Join(beside, "a.input.json"), nil, 0o600))
	require.Equal(t, beside, plugintest.Program{Path: filepath.Join(dir, "sound")}.Golden())
	require.Equal(t, beside, plugintest.Program{Path: filepath.Join(dir, "build", "sound")}.Golden())
}

func TestGoldenAnswersAreReportedWithGoldenFiles(t *testing.T) {
	require.NoError(t, plugintest.Check(t.Context(), plugintest.InProcess(compliant{}),
		plugintest.Options{}.Only("golden answers"), func(r plugintest.Result) {
			require.Equal(t, "nothing is left behind", r.Check)
		}))
}

func TestInvalidGoldenInputIsExplained(t *testing.T) {
	for text, says := range map[string]string{
		`{`:                              "unexpected EOF",
		`{"method":"Riders.PlanStatus"}`: "request of Riders.PlanStatus: is required",
		`{"method":"Riders.PlanStatus","requests":{}}`:        `unknown field "requests"`,
		`{"method":"Riders.PlanStatus","request":{}}}`:        "text follows the object",
		`{"method":"Riders.Sing"}`:                            `method "Riders.Sing"`,
		`{"method":"Call.PlanStatus"}`:                        "is unknown, one is",
		`{"method":"Riders.PlanStatus","request":{"stat":1}}`: `unknown field "stat"`,
	} {
		_, err := plugintest.ParseRequest([]byte(text))
		require.ErrorContains(t, err, says, text)
	}
}
