package signature

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTemplateHasLiteralsAndPlaceholders(t *testing.T) {
	template, err := Parse("{{{method}}} {query.a.b}\n{header.Host}{timestamp}{nonce}{body}")
	require.NoError(t, err)
	require.Equal(t, Template{{Literal, "{"}, {Source: Method}, {Literal, "} "}, {Parameter, "a.b"}, {Literal, "\n"},
		{Header, "Host"}, {Source: Timestamp}, {Source: Nonce}, {Source: Body}}, template)
	require.True(t, template.Uses(Nonce))
	require.False(t, template.Uses(Query))
	for _, wrong := range []string{"{", "}", "{body", "{}", "{query.}", "{header.}", "{header.a b}", "{Body}",
		"{query.{a}", "a}b", "{literal}", "{header}", "{ body }", strings.Repeat("a", maxTemplate) + "{body}"} {
		_, err := Parse(wrong)
		require.Error(t, err, wrong)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"{timestamp}.{body}", "{{{body}}}", "{query.store}\n{header.host}", "{", "}}}",
		"{query.}", "{method}{path}{query}", "\x00{body}\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		template, err := Parse(text)
		if err != nil {
			return
		}
		var again strings.Builder
		for _, part := range template {
			switch part.Source {
			case Literal:
				again.WriteString(strings.NewReplacer("{", "{{", "}", "}}").Replace(part.Text))
			case Header:
				again.WriteString("{header." + part.Text + "}")
			case Parameter:
				again.WriteString("{query." + part.Text + "}")
			default:
				again.WriteString("{" + string(part.Source) + "}")
			}
		}
		require.Equal(t, text, again.String(), "the parts are the whole text")
	})
}
