package simulator

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"time"

	"github.com/servery-hub/servery/plugins/sdk"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"clock":    func(at time.Time) string { return at.UTC().Format("15:04:05.000") },
	"location": func(p *Point) string { return fmt.Sprintf("%.5f, %.5f", p.Latitude, p.Longitude) },
	"brief":    func(text string) string { return sdk.Truncate(text, 160) },
}).Parse(pageText))

// pageAccount is an account on the page, latest entries first.
type pageAccount struct {
	AccountView
	Stores   []Store
	Orders   []Order
	Received []Received
}

// maxShown is the maximum number of entries of each list on the page.
const maxShown = 50

// page renders the list of accounts, or the activity of one space.
func (s *Simulator) page(w http.ResponseWriter, r *http.Request) {
	if !s.checkToken(w, r) {
		return
	}
	data := struct {
		Space    string
		Accounts []AccountView
		Active   []pageAccount
		Faults   []Fault
	}{r.PathValue("space"), s.accounts(), nil, s.faults.active(r.PathValue("space"))}
	for _, a := range data.Accounts {
		if a.Space == data.Space {
			data.Active = append(data.Active, s.pageAccount(a))
		}
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, data); err != nil {
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(out.Bytes())
}

func (s *Simulator) pageAccount(a AccountView) pageAccount {
	s.mu.Lock()
	at := s.states[accountKey{a.Space, a.Platform}]
	s.mu.Unlock()
	p := pageAccount{AccountView: a}
	if at == nil {
		return p
	}
	p.Orders = at.latestOrders(maxShown)
	at.mu.Lock()
	defer at.mu.Unlock()
	for _, code := range at.codes[max(0, len(at.codes)-maxShown):] {
		p.Stores = append(p.Stores, at.stores[code].clone())
	}
	p.Received = slices.Clone(at.received[max(0, len(at.received)-maxShown):])
	slices.Reverse(p.Orders)
	slices.Reverse(p.Received)
	return p
}
