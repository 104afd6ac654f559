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
	"github.com/servery-hub/servery/core/console"
	"github.com/servery-hub/servery/core/webhook"
)

// maxClicks is the most clicks that a call may take, from the overview or the search.
const maxClicks = 2

// supportCall is a question of a merchant, which support staff answer in the console.
type supportCall struct {
	question string
	start    string   // a path below the root; "": the overview
	search   string   // a text to search instead; "": none
	clicks   []string // links, forms to open, or filters to type as name=value
	title    string   // of the last page
	words    []string // on the last page
}

// supportCalls are the calls that support staff get most.
var supportCalls = []supportCall{
	{question: "Why did the order not arrive?", clicks: []string{"View webhook", "View attempt"},
		title: "order_placed", words: []string{"Failed after 6 attempts: the server responded with 503", "Attempt 6"}},
	{question: "Why is the item not orderable?", search: "Dal makhani", title: "Dal makhani",
		words: []string{"The item's category mains is inactive.", "nutrition_energy", "Out of stock"}},
	{question: "Who switched the store off?", search: "S-17", clicks: []string{"Who opened and closed the store"},
		title: "Audit trail", words: []string{"key:pos", "store.close", "The oven is broken."}},
	{question: "Which orders were rejected?", clicks: []string{"View rejected orders"}, title: "Rejected orders",
		words: []string{"W-9", "NOWHERE-7", "there is no store with this ref_id"}},
	{question: "What was sent to the platform?", start: "b/7/",
		clicks: []string{"nav:Platform calls", `Rider status "At the store" to aggregator-a`},
		title:  `Rider status "At the store" to aggregator-a`,
		words:  []string{"Failed, and not retried", "POST https://api.aggregator-a.example", "400"}},
	{question: "Which menu does the platform have?", search: "S-17", clicks: []string{"View what was sent"},
		title: "Menu last sent to aggregator-a", words: []string{"aggregator-a accepted the menu that the hub sent on",
			"200 OK", "photo missing", "outlet"}},
	{question: "What changed since the platform got its menu?", start: "b/7/stores/1040/",
		clicks: []string{"View what was sent", "Compare with the current menu"}, title: "Differences",
		words: []string{"Menu as it would be sent now", "950", "1050"}},
	{question: "Was the order sent twice?", search: "10412", title: "Order 10412",
		words: []string{"Received repeatedly", "item dal: quantity 1, in the repeat 2"}},
	{question: "How is one price undone?", search: "Dal makhani", clicks: []string{"History", "Menu request"},
		title: "Menu request", words: []string{"10.25 USD → 102.50 USD", "Restore the values from before this change"}},
	{question: "Why does our server answer 401?", clicks: []string{"View webhook"}, title: "order_placed",
		words: []string{"401", "The hub sends the login in Authorization: ••••••, unchanged since"}},
	{question: "Can the failed events be sent again?", clicks: []string{"nav:Problems",
		"pos.example.com responded with error 503 (not available)"}, title: "pos.example.com",
		words: []string{"Not delivered: 430 event deliveries", "Resend all"}},
	{question: "Where does this error appear?", search: "Service Unavailable",
		clicks: []string{"open:Search for the text of an error", "Search for the text of an error"},
		title:  "Deliveries",
		words:  []string{"the server responded with 503 Service Unavailable", "Searched all"}},
	{question: "Where is the order with this id of the platform?", search: "AGG-88120-4417", title: "Order 10412",
		words: []string{"Acknowledged", "The rider Asha"}},
	{question: "Where is the order of this customer?", start: "b/7/orders/",
		clicks: []string{"text=5550142", "10411"}, title: "Order 10411", words: []string{"5550142"}},
}

// newSupportHub returns the full hub, with a closed store.
func newSupportHub() *fake {
	f := fullHub()
	f.audit = append(f.audit, console.Entry{Business: 7, ID: idAt(20), At: minutesAgo(20), Actor: "key:pos",
		Action: "store.close", Object: "store/1040",
		Detail: []byte(`{"why":"The oven is broken.","after":{"platforms":["web"],"source":"api"}}`)})
	return f
}

func TestEachSupportCallTakesTwoClicks(t *testing.T) {
	browser := browsertest.Start(t)
	f := newSupportHub()
	base := serveConsole(t, f)
	signIn(t, browser, base, "sam@example.com")
	for _, call := range supportCalls {
		t.Run(call.question, func(t *testing.T) {
			if strings.Contains(call.question, "401") {
				e := &f.endpoints[0]
				e.HeaderNames, e.Health.Status, e.Health.Class = []string{"Authorization"}, 401, string(webhook.Status)
			}
			require.LessOrEqual(t, len(call.clicks), maxClicks)
			page := browser.Open(t, base+shell.Root+call.start, browsertest.Views()[0])
			defer page.Close()
			if call.search != "" {
				// DevTools also types the slash into the field
				page.Do(t, chromedp.KeyEvent("/"), chromedp.WaitReady(chromedp.CSS("#search:focus")),
					chromedp.KeyEvent("\b"+call.search+"\r"))
			}
			for _, words := range call.clicks {
				takeStep(t, page, words)
			}
			page.Do(t, chromedp.WaitVisible(chromedp.Search(fmt.Sprintf(`//h1[.=%s]`, xpathText(call.title)))))
			shown := mainText(t, page)
			for _, words := range call.words {
				assert.Contains(t, shown, words)
			}
			assert.Empty(t, page.Problems())
		})
	}
}

// takeStep clicks a link, or types into a filter and applies it with the keyboard.
func takeStep(t *testing.T, page *browsertest.Page, words string) {
	t.Helper()
	name, value, isFilter := strings.Cut(words, "=")
	target, inNavigation := strings.CutPrefix(words, "nav:")
	form, opens := strings.CutPrefix(words, "open:")
	switch {
	case opens:
		at := fmt.Sprintf(`//main//summary[normalize-space()=%s]`, xpathText(form))
		page.Do(t, chromedp.WaitVisible(chromedp.Search(at)), chromedp.Click(chromedp.Search(at)))
	case inNavigation:
		page.Do(t, clickNavigation(target), chromedp.WaitVisible(chromedp.Search(fmt.Sprintf(`//h1[.=%q]`, target))))
	case isFilter:
		page.Do(t, chromedp.SendKeys(chromedp.CSS("#filter-"+name), value+"\r"),
			chromedp.WaitVisible(chromedp.CSS(".list-progress")))
	default:
		at := fmt.Sprintf(`//main//*[self::a or self::button][normalize-space()=%s]`, xpathText(words))
		page.Do(t, chromedp.WaitVisible(chromedp.Search(at)), chromedp.Click(chromedp.Search(at)))
	}
}

// xpathText returns a text as a string of XPath. It has no apostrophe.
func xpathText(s string) string { return "'" + s + "'" }
