package ui_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/adminui/ui"
)

func TestPayloadKnowsWhetherItIsWhole(t *testing.T) {
	compact := []byte("[" + strings.Repeat("1,", 99) + "1]") // 201 bytes, about 400 when indented
	for name, row := range map[string]struct {
		limit      int
		label, url string
		ends       bool
	}{
		"whole":                    {1000, "Request, 201 B", "", false},
		"clipped":                  {100, "Request, the beginning of 201 B", "request.json", true},
		"clipped by the indent":    {300, "Request, the beginning of 201 B", "request.json", true},
		"too large to be indented": {20, "Request, the beginning of 201 B", "request.json", true},
	} {
		t.Run(name, func(t *testing.T) {
			p := ui.PayloadOf("request", "Request", compact, row.limit, "request.json")
			require.Equal(t, row.label, p.Label)
			require.Equal(t, row.url, p.URL)
			require.Equal(t, row.ends, strings.HasSuffix(p.Text, "…"))
		})
	}
}
