package adminui_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/internal/browsertest"
	"github.com/servery-hub/servery/adminui/shell"
)

// largeMenu returns a menu of about 300 KiB with a number of items.
func largeMenu(items int) []byte {
	list := make([]string, items)
	for i := range list {
		list[i] = fmt.Sprintf(`{"ref_id":"dish-%d","price":9.50,"title":"Dish <b>%d</b>","empty":[],"odd key":null,`+
			`"tags":["a","%s"]}`, i, i, strings.Repeat("x", 20))
	}
	return []byte(`{"items":[` + strings.Join(list, ",") + `],"total":` + fmt.Sprint(items) + `}`)
}

// jobPage opens the page of a job with a large request.
func jobPage(t *testing.T, browser *browsertest.Browser) (*browsertest.Page, *fake) {
	t.Helper()
	f := fullHub()
	f.jobs[0].Request = largeMenu(3000)
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	return browser.Open(t, base+shell.Root+"b/7/jobs/"+f.jobs[0].Reference.String()+"/", browsertest.Views()[0]), f
}

const requestBox = `document.querySelector("figure.payload[id^=request-]")`

func TestLargePayloadIsSearchedAndFolded(t *testing.T) {
	page, f := jobPage(t, browsertest.Start(t))
	require.Greater(t, len(f.jobs[0].Request), 256<<10)
	page.Wait(t, requestBox+`.querySelectorAll(".payload-line").length > 10`)
	assert.Less(t, browsertest.Eval[int](t, page, requestBox+`.querySelector("pre").textContent.length`), 20<<10)
	page.Do(t, chromedp.SendKeys(chromedp.CSS("figure[id^=request-] .payload-query"), "DISH-2999"))
	page.Wait(t, requestBox+`.querySelector(".payload-count").textContent === "1 of 1"`)
	assert.Equal(t, "dish-2999", browsertest.Eval[string](t, page, requestBox+`.querySelector("mark").textContent`))
	assert.Equal(t, `$.items[2999].ref_id`,
		browsertest.Eval[string](t, page, requestBox+`.querySelector(".payload-path code").textContent`))
	assert.Less(t, browsertest.Eval[int](t, page, requestBox+`.querySelectorAll(".payload-line").length`), 100)
	page.Do(t, chromedp.SendKeys(chromedp.CSS("figure[id^=request-] .payload-query"), "\b"))
	page.Wait(t, requestBox+`.querySelector(".payload-count").textContent === "1 of 11"`)
	page.Do(t, chromedp.Click(chromedp.CSS("figure[id^=request-] .payload-previous")))
	page.Wait(t, requestBox+`.querySelector(".payload-count").textContent === "11 of 11"`)
	page.Do(t, chromedp.SendKeys(chromedp.CSS("figure[id^=request-] .payload-query"), "\r"))
	page.Wait(t, requestBox+`.querySelector(".payload-count").textContent === "1 of 11"`)
	page.Check(t)
	page.Screenshot(t, "payload-searched")
	page.Do(t, chromedp.Click(chromedp.CSS("figure[id^=request-] .payload-fold")))
	assert.Equal(t, `{|"items": [ … 3000 ],|"total": 3000|}`, browsertest.Eval[string](t, page,
		`[...`+requestBox+`.querySelectorAll(".payload-line")].map((line) => line.textContent).join("|")`))
	assert.Empty(t, page.Problems())
}

func TestPayloadWorksByKeyboardAndCopiesPaths(t *testing.T) {
	page, _ := jobPage(t, browsertest.Start(t))
	page.Wait(t, requestBox+`.querySelectorAll(".payload-line").length > 10`)
	browsertest.Eval[int](t, page, `(window.copied = [], navigator.clipboard.writeText = async (text) => `+
		`{ copied.push(text); }, `+requestBox+`.querySelector(".payload-tree").focus(), 0)`)
	active := func() string {
		return browsertest.Eval[string](t, page, `document.getElementById(document.activeElement.getAttribute(`+
			`"aria-activedescendant")).textContent`)
	}
	key := func(names ...string) {
		for _, name := range names {
			browsertest.Eval[bool](t, page, `document.activeElement.dispatchEvent(new KeyboardEvent("keydown",`+
				` {key: "`+name+`", bubbles: true, cancelable: true}))`)
		}
	}
	key("ArrowDown", "ArrowDown", "ArrowDown")
	assert.Equal(t, `"ref_id": "dish-0",`, active())
	key("ArrowLeft", "ArrowLeft")
	assert.Equal(t, `{ … 6 },`, active(), "the item around it is folded")
	key("ArrowDown")
	assert.Equal(t, `{`, active(), "the next item")
	key("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown")
	assert.Equal(t, `"odd key": null,`, active())
	page.Do(t, chromedp.Click(chromedp.CSS("figure[id^=request-] .payload-copy-path")))
	page.Do(t, chromedp.Click(chromedp.CSS("figure[id^=request-] .payload-copy-value")))
	page.Wait(t, `copied.length === 2`)
	assert.Equal(t, `$.items[1]["odd key"] null`, browsertest.Eval[string](t, page, `copied.join(" ")`))
	page.Do(t, chromedp.Click(chromedp.CSS("figure[id^=request-] .payload-all")))
	page.Wait(t, requestBox+`.wholeBody`)
	page.Do(t, chromedp.Click(chromedp.CSS("figure[id^=request-] button.copy")))
	page.Wait(t, `copied.length === 3`)
	assert.Equal(t, string(largeMenu(3000)), browsertest.Eval[string](t, page, `copied[2]`), "the whole body")
	assert.Empty(t, page.Problems())
}

func TestFoldAllNamesWhatItDoes(t *testing.T) {
	browser := browsertest.Start(t)
	page, f := jobPage(t, browser)
	page.Wait(t, requestBox+`.querySelectorAll(".payload-line").length > 10`)
	const label = requestBox + `.querySelector(".payload-fold").textContent`
	toggle := func(n int) {
		browsertest.Eval[int](t, page, fmt.Sprintf(requestBox+`.querySelectorAll(".payload-toggle")[%d].click(), 0`, n))
	}
	assert.Equal(t, "Fold all", browsertest.Eval[string](t, page, label))
	toggle(2)
	assert.Equal(t, "Unfold all", browsertest.Eval[string](t, page, label), "an item is folded")
	toggle(2)
	assert.Equal(t, "Fold all", browsertest.Eval[string](t, page, label), "nothing is folded")
	page.Do(t, chromedp.Click(chromedp.CSS("figure[id^=request-] .payload-fold")))
	assert.Equal(t, "Unfold all", browsertest.Eval[string](t, page, label))
	f.jobs[0].Request = []byte(`{"a":1,"b":[],"c":3}`)
	page.Do(t, chromedp.Reload())
	page.Wait(t, requestBox+`.querySelectorAll(".payload-line").length === 5`)
	assert.True(t, browsertest.Eval[bool](t, page, requestBox+`.querySelector(".payload-fold").hidden`))
}

func TestLiveUpdateKeepsAnUnchangedPayload(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	page := browser.Open(t, fmt.Sprintf("%s%sb/7/deliveries/%s/", base, shell.Root, f.deliveries[1].ID),
		browsertest.Views()[0])
	page.Wait(t, `document.querySelector("#live")._htmx?.sse?.reader`)
	page.Wait(t, `document.querySelector("figure[id^=payload-].payload-ready")`)
	page.Do(t, chromedp.SendKeys(chromedp.CSS("figure[id^=payload-] .payload-query"), "script"))
	page.Wait(t, `document.querySelector("figure[id^=payload-] .payload-count").textContent === "1 of 1"`)
	f.mu.Lock()
	f.deliveries[1].LastError = "changed meanwhile"
	f.attempts[len(f.attempts)-1].ResponseBody = []byte(`{"fresh":true}`)
	f.changes++
	f.mu.Unlock()
	page.Wait(t, `document.querySelector("main").innerText.includes("changed meanwhile")`)
	assert.Equal(t, "script", browsertest.Eval[string](t, page,
		`document.querySelector("figure[id^=payload-] .payload-query").value`))
	page.Wait(t, `[...document.querySelectorAll(".payload-tree")].some((tree) => tree.innerText.includes("fresh"))`)
	assert.Empty(t, page.Problems())
}

func TestTwoSelectedBodiesAreCompared(t *testing.T) {
	browser := browsertest.Start(t)
	f := fullHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	page := browser.Open(t, base+shell.Root+"b/7/orders/10412/", browsertest.Views()[0])
	assert.Contains(t, mainText(t, page), "Order as sent to the POS")
	page.Do(t, click("Choose what to compare"), chromedp.WaitVisible(chromedp.Search(`//h1[.="Differences"]`)))
	assert.Contains(t, mainText(t, page), "Select two contents to compare.")
	option := func(part string) string {
		return browsertest.Eval[string](t, page,
			`[...document.querySelectorAll("#filter-before option")].find((o) => o.text.includes("`+part+`")).value`)
	}
	before, after := option("attempt 1, on 21 Nov at 05:45 CST: request"), option("Order as sent to the POS")
	browsertest.Eval[int](t, page, fmt.Sprintf(`(document.querySelector("#filter-before").value = %q, `+
		`document.querySelector("#filter-after").value = %q, 0)`, before, after))
	page.Do(t, click("Compare"))
	page.Do(t, chromedp.WaitVisible(chromedp.CSS(".diff-lines")))
	assert.Contains(t, mainText(t, page), `"status": "ASSIGNED"`)
	assert.Contains(t, mainText(t, page), `"payable_amount": 21.65`)
	page.Check(t)
	page.Screenshot(t, "payload-compared")
	assert.Empty(t, page.Problems())
}

func TestRecordsAndResponsesAreDownloadedWhole(t *testing.T) {
	f := fullHub()
	f.items[0].Record = []byte(`{"title":"Dal","tags":[` + strings.Repeat(`1,`, 5000) + `1]}`)
	f.attempts[0].ResponseBody = []byte(`{"why":"` + strings.Repeat("y", 9<<10) + `"}`)
	server := serveConsole(t, f)
	client, base := adminClient(t, server), shell.Root+"b/7/"
	for at, row := range map[string]struct{ whole, body string }{
		fmt.Sprintf("items/%d/", f.items[0].ID):           {"record.json", string(f.items[0].Record)},
		fmt.Sprintf("deliveries/%s/", f.deliveries[1].ID): {"response/1", string(f.attempts[0].ResponseBody)},
	} {
		_, page := getPage(t, client, server+base+at)
		require.Contains(t, page, `data-whole="`+base+at+row.whole+`"`)
		status, body := getPage(t, client, server+base+at+row.whole)
		assert.Equal(t, 200, status)
		assert.Equal(t, row.body, body)
	}
	status, _ := getPage(t, client, server+base+"deliveries/"+f.deliveries[1].ID.String()+"/response/9")
	assert.Equal(t, 404, status)
}

func TestBodiesOfCallsAreDownloaded(t *testing.T) {
	f := fullHub()
	for i := range f.calls[0].Attempts {
		f.calls[0].Attempts[i].ResponseBody = []byte(`["` + strings.Repeat("y", 4<<10) + `"]`)
	}
	for len(f.calls) < 12 {
		f.calls = append(f.calls, f.calls[0])
	}
	base := serveConsole(t, f)
	client := adminClient(t, base)
	status, body := getPage(t, client, base+shell.Root+"b/7/orders/10412/")
	require.Equal(t, 200, status)
	assert.Less(t, len(body), 100<<10, "the page includes whole only the first bodies")
	key := "call-" + f.calls[0].ID.String() + "-1-response"
	assert.Contains(t, body, `data-whole="/console/b/7/orders/10412/body/`+key)
	status, body = getPage(t, client, base+shell.Root+"b/7/orders/10412/body/"+key)
	assert.Equal(t, 200, status)
	assert.Equal(t, string(f.calls[0].Attempts[0].ResponseBody), body)
	for _, path := range []string{"body/none", "diff/?before=none&after=payload"} {
		status, _ = getPage(t, client, base+shell.Root+"b/7/orders/10412/"+path)
		assert.Equal(t, 404, status, path)
	}
}
