package deliveries

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/servery-hub/servery/adminui/cause"
	"github.com/servery-hub/servery/adminui/shell"
	"github.com/servery-hub/servery/adminui/text"
	"github.com/servery-hub/servery/adminui/ui"
	"github.com/servery-hub/servery/core"
	"github.com/servery-hub/servery/core/webhook"
)

// deliveryView is the view model of a delivery.
type deliveryView struct {
	facts       []ui.Fact
	attempts    []attemptView
	payload     ui.Payload
	downloadURL string
	curl        string
}

// attemptView is the view model of an attempt.
type attemptView struct {
	key, title                      string
	state                           ui.State
	result                          string
	at                              ui.Instant
	took                            string
	phases                          []ui.Option
	requestHeaders, responseHeaders []ui.Option
	body                            ui.Payload
}

// attemptViews returns the attempts of the delivery with the URL page, newest first.
func attemptViews(v *shell.PageContext, page string, attempts []webhook.AttemptRecord) []attemptView {
	list, keys := make([]attemptView, 0, len(attempts)), attemptKeys(attempts)
	for i, a := range slices.Backward(attempts) {
		view := attemptView{key: keys[i], title: fmt.Sprintf(text.Attempt, a.N), state: ui.OK,
			result: fmt.Sprint(a.Status),
			at:     v.At(a.StartedAt), took: ui.Took(a.Timing.Total), requestHeaders: ui.Headers(a.RequestHeaders),
			responseHeaders: ui.Headers(a.ResponseHeaders),
			body: ui.PayloadOf(fmt.Sprintf("response-%d", a.N), text.ResponseBody, a.ResponseBody, maxShownResponse,
				fmt.Sprintf("%sresponse/%d", page, a.N))}
		if !a.OK() {
			view.state, view.result = ui.Err, cause.FailureReason(a.ErrorClass, a.Error, v.Zone)
		}
		for _, phase := range []struct {
			name string
			at   time.Duration
		}{{text.PhaseDNS, a.Timing.DNS}, {text.PhaseConnect, a.Timing.Connect}, {text.PhaseTLS, a.Timing.TLS},
			{text.PhaseFirst, a.Timing.FirstByte}, {text.PhaseTotal, a.Timing.Total}} {
			if phase.at > 0 {
				view.phases = append(view.phases, ui.Option{Label: phase.name, Value: ui.Took(phase.at)})
			}
		}
		if a.SentTwice {
			view.phases = append(view.phases, ui.Option{Label: text.SentTwice, Value: text.SentTwiceWhy})
		}
		list = append(list, view)
	}
	return list
}

// attemptKeys returns a key of each attempt. An attempt keeps its key when further ones follow, also if the oldest are
// then no longer read. Two replicas can make attempts of the same number.
func attemptKeys(attempts []webhook.AttemptRecord) []string {
	keys, repeats := make([]string, len(attempts)), 0
	for i, a := range attempts {
		keys[i] = fmt.Sprintf("attempt-%d", a.N)
		if i == 0 || attempts[i-1].N != a.N {
			repeats = 0
			continue
		}
		repeats++
		keys[i] += fmt.Sprintf("-repeat-%d", repeats)
	}
	return keys
}

// Response downloads the body of the response to an attempt.
func (p Pages) Response(c *fiber.Ctx, v *shell.PageContext) error {
	_, attempts, err := p.get(c, v)
	if err != nil {
		return err
	}
	for _, a := range attempts {
		if strconv.Itoa(a.N) == c.Params("attempt") && len(a.ResponseBody) > 0 {
			return ui.File(c, fmt.Sprintf("response-%d.txt", a.N), a.ResponseBody)
		}
	}
	return core.Errorf(core.NotFound, text.BodyGone)
}

// Limits in bytes: what the page shows of a response, and what a curl command includes.
const maxShownResponse, maxCurlPayload = 8 << 10, 4 << 10

// curl returns the latest attempt as a curl command, with secrets masked. A long payload is read from the
// downloaded file.
func curl(d webhook.DeliveryRecord, attempts []webhook.AttemptRecord, payload []byte) string {
	lines := []string{"curl -sS -X POST " + shellQuote(d.URL)}
	if len(attempts) > 0 {
		for _, h := range ui.Headers(attempts[len(attempts)-1].RequestHeaders) {
			if !strings.EqualFold(h.Label, "Content-Length") && !strings.EqualFold(h.Label, "Host") {
				lines = append(lines, "-H "+shellQuote(h.Label+": "+h.Value))
			}
		}
	}
	data := shellQuote(string(payload))
	if len(payload) > maxCurlPayload || payload == nil {
		data = "@" + d.EventID.String() + ".json"
	}
	return strings.Join(append(lines, "--data-binary "+data), " \\\n  ")
}

// shellQuote quotes s for a POSIX shell.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
