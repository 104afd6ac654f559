package sdk

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPersonalValuesAreMasked(t *testing.T) {
	for text, masked := range map[string]string{
		"no rider for +1 (415) 555-0100!":     "no rider for [number]!",
		"phone +14155550100, 4155550100":      "phone [number], [number]",
		"call 415-555-0100 or (415) 555 0100": "call [number] or [number]",
		"jane@v1.example.com":                 "[e-mail]",
		"mail ann.smith+x@example.co.uk now":  "mail [e-mail] now",
	} {
		require.Equal(t, masked, MaskPersonal(text))
	}
	for _, text := range []string{"exit status 3", "order 4711 at 2026-11-23T09:30:00.123Z", "main.go:131 +0x1d",
		"call 01234567-89ab-7def-8123-456789abcdef", "index out of range [5] with length 3", "12.5.1 is no decimal",
		"github.com/servery-hub/servery@v0.0.0/plugins/sdk/server.go:143", "/mod/grpc@v1.80.1-rc.1/server.go:7"} {
		require.Equal(t, text, MaskPersonal(text))
	}
}
