package simulator

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/servery-hub/servery/deploy/check/buildtest"
	"github.com/servery-hub/servery/plugins/plugintest"
	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

func TestMessagesCarryTheDocumentedCredentials(t *testing.T) {
	b := newHarness(t, nil)
	for n, letter := range []string{"a", "b", "c"} {
		b.sendMenu(letter)
		b.admin("POST", "7/"+letter+"/orders", `{"store":"R-88","seed":1}`, new([]Sent))
		got := b.hubRequests()[n]
		switch letter {
		case "a":
			mac := hmac.New(sha256.New, []byte("in-7"))
			mac.Write([]byte(got.body))
			require.Equal(t, hex.EncodeToString(mac.Sum(nil)), got.header.Get("X-Signature"))
			require.Equal(t, "/channel/api/v1/a/callback/orders/", got.path)
		case "b":
			require.Equal(t, "Bearer in-7", got.header.Get("Authorization"))
			require.Equal(t, "/channel/api/v1/b/callback/order/", got.path)
		case "c":
			require.Equal(t, "in-7", got.header.Get("X-Shop-Token"))
			require.Equal(t, "/channel/api/v1/c/callback/message/", got.path)
		}
	}
}

// startPlugin starts the plugin of an aggregator.
func startPlugin(t *testing.T, letter string) *sdk.Client {
	t.Helper()
	program := filepath.Join(t.TempDir(), "plugin")
	require.NoError(t, buildtest.Program(program, "../aggregator"+letter))
	plugin, err := plugintest.Subprocess(program, "").Start()
	require.NoError(t, err)
	t.Cleanup(func() { _ = plugin.Stop() })
	return plugin.Client
}

func TestPluginsTranslateSimulatedOrdersCorrectly(t *testing.T) {
	for _, letter := range []string{"a", "b", "c"} {
		b, plugin := newHarness(t, nil), startPlugin(t, letter)
		b.sendMenu(letter)
		account, err := b.config.Directory.Account(t.Context(), "7", letter)
		require.NoError(t, err)
		for n := range 50 {
			basket, err := b.RandomBasket(t.Context(), "7", letter,
				BasketRequest{Store: "S-1", Spec: OrderSpec{Bulk: n%10 == 0}, Seed: 42, N: n})
			require.NoError(t, err)
			m, err := aggregatorOf(account.Plugin).newOrder(basket, account)
			require.NoError(t, err)
			read, err := plugin.Orders().Translate(t.Context(), translate(m))
			require.NoError(t, err, string(m.body))
			o := read.GetOrder()
			mode := Delivery
			if basket.Mode == Pickup {
				mode = Pickup
			}
			require.Equal(t, []any{m.id, "S-1", "R-88", mode, basket.Bulk, basket.Note, basket.Customer.Name,
				basket.Customer.Phone, basket.Customer.Street, basket.Customer.Zip},
				[]any{o.GetPlatformOrderId(), o.GetStoreRefId(), o.GetPlatformStoreId(), o.GetOrderType(),
					o.GetIsBulkOrder(), o.GetInstructions(),
					o.GetCustomer().GetName(), o.GetCustomer().GetPhone(), o.GetCustomer().GetAddress().GetLine_1(),
					o.GetCustomer().GetAddress().GetPin()})
			if mode == Delivery {
				require.Equal(t, basket.DeliveredBy, o.GetDeliveryType())
			}
			require.Len(t, o.GetItems(), len(basket.Lines))
			for i, l := range basket.Lines {
				requireLine(t, l, o.GetItems()[i])
			}
			require.Len(t, o.GetTaxes(), map[string]int{"c": 1}[letter], "only C taxes orders itself")
			require.Empty(t, o.GetCharges())
		}
		m := aggregatorOf(account.Plugin).cancelOrder("42")
		read, err := plugin.Orders().Translate(t.Context(), translate(m))
		require.NoError(t, err)
		require.Equal(t, []string{"42", cancelReason},
			[]string{read.GetCancellation().GetPlatformOrderId(), read.GetCancellation().GetReason()})
	}
}

func translate(m message) *pb.TranslateRequest {
	return &pb.TranslateRequest{Call: &sdk.Call{}, Request: &sdk.InboundRequest{Kind: m.kind, Body: m.body}}
}

func contact(body string) *pb.InterpretCallbackRequest {
	return &pb.InterpretCallbackRequest{Call: &sdk.Call{},
		Request: &sdk.InboundRequest{Kind: "customer-data", Body: []byte(body)}}
}

func requireLine(t *testing.T, l Line, read *pb.OrderItem) {
	t.Helper()
	require.Equal(t, []any{l.Ref, l.Title, l.Quantity, l.Price, l.Note},
		[]any{read.GetRefId(), read.GetTitle(), read.GetQuantity(), read.GetPrice(), read.GetInstructions()})
	require.Len(t, read.GetOptions(), len(l.Options))
	for i, o := range l.Options {
		require.Equal(t, []any{o.Ref, o.Title, o.Price, int64(1)},
			[]any{read.GetOptions()[i].GetRefId(), read.GetOptions()[i].GetTitle(), read.GetOptions()[i].GetPrice(),
				read.GetOptions()[i].GetQuantity()})
	}
}

func TestCustomerContactIsSentByCallback(t *testing.T) {
	b := newHarness(t, nil)
	b.hubResponse = func(n int) (int, string) {
		if n == 1 {
			return 503, "busy"
		}
		return 200, `{"message":"outcome recorded"}`
	}
	const request = "01a1fd44-7c00-7000-8000-000000000001"
	r := b.sendAsHub("7", "POST", "/a/v2/orders/90001/customer-contact", `{"request_id":"`+request+`"}`)
	require.Equal(t, httpReply{202, `{"message":"it is being looked up"}`}, r)
	for n := range 2 { // the hub fails once
		(<-b.waiting) <- time.Time{}
		require.Eventually(t, func() bool { return len(b.hubRequests()) == n+1 }, 10*time.Second, time.Millisecond)
	}
	got := b.hubRequests()[1]
	require.Equal(t, "/channel/api/v1/a/callback/customer-data/", got.path)
	var sent map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.body), &sent))
	require.Equal(t, map[string]any{"request_id": request, "order_id": "90001", "masked_phone": maskedPhone("90001")},
		sent)
	require.Equal(t, b.hubRequests()[0].body, got.body)

	plugin := startPlugin(t, "a")
	outcome, err := plugin.Actions().InterpretCallback(t.Context(), contact(got.body))
	require.NoError(t, err)
	require.Equal(t, []any{pb.OutcomeState_OUTCOME_STATE_DONE, maskedPhone("90001"), request},
		[]any{outcome.GetState(), outcome.GetCustomerPhone(), outcome.GetIdempotencyKey()})
	b.admin("POST", "7/a/orders/90001/contact", `{"error":"no such customer"}`, new(Sent))
	outcome, err = plugin.Actions().InterpretCallback(t.Context(), contact(b.hubRequests()[2].body))
	require.NoError(t, err)
	require.Equal(t, []any{pb.OutcomeState_OUTCOME_STATE_FAILED, "no such customer", "90001"},
		[]any{outcome.GetState(), outcome.GetMessage(), outcome.GetPlatformOrderId()})
}

func TestPendingContactsAreBounded(t *testing.T) {
	b := newHarness(t, nil)
	for range maxCallbacks {
		require.Equal(t, 202, b.sendAsHub("7", "POST", "/a/v2/orders/1/customer-contact", `{"request_id":"x"}`).status)
	}
	r := b.sendAsHub("7", "POST", "/a/v2/orders/1/customer-contact", `{"request_id":"x"}`)
	require.Equal(t, httpReply{200, fmt.Sprintf(`{"masked_phone":%q,"message":"here it is"}`, maskedPhone("1"))}, r)
}

func TestDuplicateFaultSendsTheMessageTwice(t *testing.T) {
	b := withFault(t, `{"kind":"duplicate","times":1}`)
	b.sendMenu("b")
	var placed []Sent
	b.admin("POST", "7/b/orders", `{"store":"S-1","count":2}`, &placed)
	require.Equal(t, []bool{true, false}, []bool{placed[0].Twice, placed[1].Twice})
	got := b.hubRequests()
	require.Len(t, got, 3)
	require.Equal(t, got[0].body, got[1].body)
	require.NotEqual(t, got[1].body, got[2].body)
}

func TestMessageIsSentUnchangedAndFailuresReported(t *testing.T) {
	b := newHarness(t, nil)
	b.hubResponse = func(int) (int, string) { return 400, `{"status":"error","message":"order: mode is wrong"}` }
	var out Sent
	b.admin("POST", "7/b/messages/order", `{"orderId":1,  "odd":[]}`, &out)
	require.Equal(t, []any{400, "order: mode is wrong"}, []any{out.Status, out.Message})
	require.Equal(t, `{"orderId":1,  "odd":[]}`, b.hubRequests()[0].body)

	accounts := b.config.Directory.(fixedDirectory)
	accounts[1].Callback = "http://127.0.0.1:1/"
	b.admin("POST", "7/b/messages/order", `{}`, &out)
	require.Equal(t, 0, out.Status)
	require.Contains(t, out.Message, "the hub did not answer")
}

func TestSameSeedProducesTheSameOrders(t *testing.T) {
	shelf := Menu{Store: "S-1", Items: []Item{{Ref: "a", Price: "1"}, {Ref: "b", Price: "2"}, {Ref: "c", Price: "3"}}}
	make := func(seed uint64) (list []Basket) {
		for n := range 20 {
			b, err := shelf.RandomBasket(OrderSpec{}, seed, n)
			require.NoError(t, err)
			list = append(list, b)
		}
		return list
	}
	require.Equal(t, make(7), make(7))
	require.NotEqual(t, make(7), make(8))
	soldOut := Menu{Items: []Item{{Ref: "a", OutOfStock: true}, {Ref: "b", OptionGroups: []OptionGroup{{Min: 1}}}}}
	_, err := soldOut.RandomBasket(OrderSpec{}, 1, 1)
	require.ErrorContains(t, err, "nothing to order")
}

// TestGeneratedOrdersFollowTheMenuRules checks that items are in stock and not repeated, and that the number of
// options fits their groups.
func TestGeneratedOrdersFollowTheMenuRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shelf := Menu{Store: "S"}
		for d := range rapid.IntRange(1, 6).Draw(t, "dishes") {
			dish := Item{Ref: fmt.Sprint("d", d), Price: "1", OutOfStock: rapid.Bool().Draw(t, "out")}
			for c := range rapid.IntRange(0, 3).Draw(t, "choices") {
				options := rapid.IntRange(0, 5).Draw(t, "options")
				choice := OptionGroup{Min: rapid.Int64Range(0, 3).Draw(t, "min"),
					Max: rapid.Int64Range(-1, 4).Draw(t, "max")}
				for o := range options {
					choice.Options = append(choice.Options, Option{Ref: fmt.Sprint("o", d, c, o)})
				}
				dish.OptionGroups = append(dish.OptionGroups, choice)
			}
			shelf.Items = append(shelf.Items, dish)
		}
		b, err := shelf.RandomBasket(OrderSpec{}, rapid.Uint64().Draw(t, "seed"), rapid.Int().Draw(t, "n"))
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, l := range b.Lines {
			at := int(l.Ref[1] - '0')
			require.False(t, seen[l.Ref])
			seen[l.Ref] = true
			require.False(t, shelf.Items[at].OutOfStock)
			require.Positive(t, l.Quantity)
			for _, c := range shelf.Items[at].OptionGroups {
				chosen := int64(0)
				for _, o := range c.Options {
					for _, taken := range l.Options {
						if taken.Ref == o.Ref {
							chosen++
						}
					}
				}
				require.GreaterOrEqual(t, chosen, c.Min)
				require.True(t, c.Max < 0 || chosen <= max(c.Max, c.Min))
			}
		}
	})
}

// FuzzAggregatorFormats checks that every body is either accepted or rejected with a message.
func FuzzAggregatorFormats(f *testing.F) {
	for n, plugin := range []string{"aggregatora", "aggregatorb", "aggregatorc"} {
		for _, p := range goldenPlans(f, plugin) {
			f.Add(uint8(n), []byte(p.Body))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		own := aggregators[int(which)%len(aggregators)]
		for _, route := range own.routes {
			request, err := fuzzRequest(route.pattern)
			require.NoError(t, err)
			content, err := route.parse(request, body)
			if err != nil {
				require.NotEmpty(t, err.Error())
				continue
			}
			newAccountState().apply(route.call, content, len(body), time.Time{})
		}
		if shelf, err := own.parseMenu(body, Account{}); err == nil {
			if b, err := shelf.RandomBasket(OrderSpec{}, 1, 1); err == nil {
				_, _ = own.newOrder(b, Account{})
			}
		}
	})
}

// fuzzRequest returns a request for a pattern, with the wildcards as literal text.
func fuzzRequest(pattern string) (*http.Request, error) {
	method, path, _ := strings.Cut(pattern, " ")
	return http.NewRequest(method, path, nil)
}
