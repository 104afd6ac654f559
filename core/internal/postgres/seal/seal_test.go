package seal

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecretsDecryptOnlyWithTheirKeyAndContext(t *testing.T) {
	one, err := New(strings.Repeat("ab", 32))
	require.NoError(t, err)
	other, err := New("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
	require.NoError(t, err)
	sealed := one.Keys[0].Seal("webhooks/1/secret", []byte("hush"))
	require.NotContains(t, string(sealed), "hush")
	require.NotEqual(t, sealed, one.Keys[0].Seal("webhooks/1/secret", []byte("hush")),
		"two sealed values of a secret differ")
	plain, err := one.Open("webhooks/1/secret", sealed)
	require.NoError(t, err)
	require.Equal(t, "hush", string(plain))
	for name, open := range map[string]func() ([]byte, error){
		"other associated data": func() ([]byte, error) { return one.Open("webhooks/2/secret", sealed) },
		"another key":           func() ([]byte, error) { return other.Open("webhooks/1/secret", sealed) },
		"changed": func() ([]byte,
			error) {
			return one.Open("webhooks/1/secret", append(bytes.Clone(sealed), 0))
		},
		"cut short": func() ([]byte, error) { return one.Open("webhooks/1/secret", sealed[:5]) },
		"nothing":   func() ([]byte, error) { return one.Open("webhooks/1/secret", nil) },
	} {
		_, err := open()
		require.ErrorIs(t, err, ErrSealed, name)
	}
	for _, wrong := range []string{"", "short", strings.Repeat("ab", 31), strings.Repeat("zz", 32)} {
		_, err := New(wrong)
		require.Error(t, err, wrong)
	}
}
