package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// measureMenuEffective reads the effective menu of a store that sells the whole
// menu, and asks whether it is still the same.
func measureMenuEffective(ctx context.Context, b *bench) ([]figure, error) {
	rows, _, err := readMenu(b.Menu)
	if err != nil {
		return nil, err
	}
	m, err := openMenuBench(ctx, b, "menueffective")
	if err != nil {
		return nil, err
	}
	defer b.pg.drop("menueffective", b.log)
	defer m.close()
	who, store, err := m.shop(ctx, rows)
	if err != nil {
		return nil, err
	}
	tag, size, err := m.checkEffective(ctx, who, store, rows)
	if err != nil {
		return nil, err
	}
	var uncached, same []float64
	for range pick(b, 40, 20) {
		took, err := m.timeEffective(ctx, who, store, "", http.StatusOK)
		if err != nil {
			return nil, err
		}
		uncached = append(uncached, took)
	}
	for range pick(b, 400, 200) {
		took, err := m.timeEffective(ctx, who, store, tag, http.StatusNotModified)
		if err != nil {
			return nil, err
		}
		same = append(same, took)
	}
	whole := figure{Name: "menu/effective uncached", Unit: milliseconds, Measured: median(uncached),
		Note: fmt.Sprintf("median of %d, request to the end of %.1f MB; at least %.1f ms", len(uncached), float64(size)/1e6, percentile(uncached, 0))}
	unchanged := figure{Name: "menu/effective 304", Unit: milliseconds, Measured: median(same),
		Note: fmt.Sprintf("median of %d, with If-None-Match; p99 %.2f ms", len(same), percentile(same, 99))}
	return []figure{whole.judged("< 100 ms", whole.Measured < 100), unchanged.judged("< 2 ms", unchanged.Measured < 2)}, nil
}

// shop makes a business whose only store sells the whole menu.
func (m menuBench) shop(ctx context.Context, rows *menuRows) (who tenant, store string, err error) {
	if who, err = m.business(ctx); err != nil {
		return who, "", err
	}
	refs, err := m.stores(ctx, who, 1)
	if err != nil {
		return who, "", err
	}
	body, err := rows.body()
	if err != nil {
		return who, "", err
	}
	if _, err := m.postMaster(ctx, who, body, rows.objects(), 0); err != nil {
		return who, "", err
	}
	sold := menuRows{Items: rows.Items, Options: rows.Options}
	if body, err = sold.atStore(); err != nil {
		return who, "", err
	}
	_, err = m.post(ctx, who, refs[0], body, 0, sold.objects())
	return who, refs[0], err
}

// atStore is a request that has a store sell the menu's items and options.
func (m *menuRows) atStore() ([]byte, error) {
	return unescaped(map[string][]menuRow{"items": m.Items, "options": m.Options})
}

// askEffective asks for the effective menu, with the entity tag of what is
// known already unless that is "", and writes the answer's body as it comes.
func (h *hubProcess) askEffective(ctx context.Context, who tenant, store, tag string, body io.Writer) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.base+"/channel/api/v1/stores/"+store+"/menu/?platform=web", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", who.authorization)
	if tag != "" {
		request.Header.Set("If-None-Match", tag)
	}
	response, err := h.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	_, err = io.Copy(body, response.Body)
	return response, err
}

// timeEffective is how many milliseconds the answer of this status took.
func (m menuBench) timeEffective(ctx context.Context, who tenant, store, tag string, status int) (float64, error) {
	began := time.Now()
	response, err := m.hub.askEffective(ctx, who, store, tag, io.Discard)
	took := inMilliseconds(time.Since(began))
	if err == nil && response.StatusCode != status {
		err = fmt.Errorf("the effective menu: %s, not %d", response.Status, status)
	}
	return took, err
}

// checkEffective makes sure that all there is to see is seen, and tells the
// menu's entity tag and size.
func (m menuBench) checkEffective(ctx context.Context, who tenant, store string, rows *menuRows) (tag string, size int, err error) {
	var body bytes.Buffer
	response, err := m.hub.askEffective(ctx, who, store, "", &body)
	if err != nil {
		return "", 0, err
	}
	var seen struct{ Items, Options []struct{} }
	if err := json.Unmarshal(body.Bytes(), &seen); err != nil {
		return "", 0, fmt.Errorf("the effective menu: %s: %w", response.Status, err)
	}
	if len(seen.Items) != len(rows.Items) || len(seen.Options) != len(rows.Options) {
		return "", 0, fmt.Errorf("%d items and %d options are seen, not %d and %d", len(seen.Items), len(seen.Options), len(rows.Items), len(rows.Options))
	}
	return response.Header.Get("ETag"), body.Len(), nil
}
