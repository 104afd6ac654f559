package step

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"math/rand/v2"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/servery-hub/servery/plugins/sdk/placeholder"
)

func valuesOf(value string) Values { return Values{{Step: "a", Name: "id"}: {Text: value}} }

func TestTextFollowsJSONPointers(t *testing.T) {
	body := []byte(`{"foo":["bar","baz"],"":0,"a/b":1,"m~n":8,"big":12345678901234567890.10,"yes":true,` +
		`"null":null,"object":{"in":"ner"}}`)
	for pointer, want := range map[string]string{"/foo/0": "bar", "/": "0", "/a~1b": "1", "/m~0n": "8",
		"/big": "12345678901234567890.10", "/yes": "true", "/object/in": "ner"} {
		text, found := Text(body, pointer)
		require.True(t, found, pointer)
		require.Equal(t, want, text)
	}
	for _, pointer := range []string{"", "foo", "/foo", "/foo/2", "/foo/01", "/foo/-", "/foo/-1", "/null", "/object",
		"/absent", "/foo/0/deeper", "/foo/99999999999999999999"} {
		_, found := Text(body, pointer)
		require.False(t, found, pointer)
	}
	_, found := Text([]byte(`{"id":"cut`), "/id")
	require.False(t, found)
}

func TestTakeRejectsUnusableResponses(t *testing.T) {
	for name, row := range map[string]struct {
		take Take
		body string
		err  string
	}{
		"taken":        {Take{Name: "id", Pointer: "/id", MaxLength: 9}, `{"id":"u-1"}`, ""},
		"missing":      {Take{Name: "id", Pointer: "/id", MaxLength: 9}, `{}`, `no text or number at /id`},
		"no JSON":      {Take{Name: "id", Pointer: "/id", MaxLength: 9}, `<id/>`, `no text or number at /id`},
		"optional":     {Take{Name: "id", Pointer: "/id", MaxLength: 9, Optional: true}, `{}`, ""},
		"too long":     {Take{Name: "id", Pointer: "/id", MaxLength: 2}, `{"id":"u-1"}`, `more than 2 bytes at /id`},
		"short secret": {Take{Name: "id", Pointer: "/id", MaxLength: 9, Secret: true}, `{"id":"u-1"}`, `less than 6`},
		"numeric secret": {Take{Name: "id", Pointer: "/id", MaxLength: 9, Secret: true}, `{"id":1234567}`,
			`not a text at /id`},
		"secret": {Take{Name: "id", Pointer: "/id", MaxLength: 9, Secret: true}, `{"id":"u-12345"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := Values{}.Take("a", []Take{row.take}, []byte(row.body))
			if row.err == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, row.err)
			require.NotContains(t, err.Error(), "u-1")
		})
	}
}

func TestPathsKeepValuesInTheirSegment(t *testing.T) {
	for value, want := range map[string]string{"u-1": "/m/u-1/x", "a b?c#d": "/m/a%20b%3Fc%23d/x", "50%": "/m/50%25/x",
		"é;=": "/m/%C3%A9%3B=/x", "...": "/m/.../x"} {
		path, err := valuesOf(value).Path("/m/{a.id}/x")
		require.NoError(t, err, value)
		require.Equal(t, want, path)
	}
	for _, value := range []string{"", ".", "..", "../x", "a/b", `a\b`, "%2e%2e", "%2E.", "..%2fadmin", "%252e%252e",
		"%255c", "a%00b", "a\nb", "%5c..", "a%2Fb", "%2e%2e%2fadmin%zz", "%2e%2e%5cx%", "%zz%2e%252e%2f"} {
		_, err := valuesOf(value).Path("/m/{a.id}/x")
		require.Error(t, err, value)
	}
	_, err := Values{{Step: "a", Name: "x"}: {Text: "%2"}, {Step: "a", Name: "y"}: {Text: "e%2e"}}.Path("/m/{a.x}{a.y}")
	require.ErrorContains(t, err, "a server may read as another path")
	_, err = Values{{Step: "a", Name: "id"}: {Text: ".x"}}.Path("/m/{a.id}{b.id}")
	require.ErrorContains(t, err, "no earlier step has the value {b.id}")
}

func TestHeadersRejectControlCharacters(t *testing.T) {
	text, err := valuesOf("u-1").Header("Bearer {a.id}")
	require.NoError(t, err)
	require.Equal(t, "Bearer u-1", text)
	for _, value := range []string{"a\r\nX-Admin: 1", "a\x00", "a\x7f"} {
		_, err := valuesOf(value).Header("Bearer {a.id}")
		require.ErrorContains(t, err, "not allowed in a header")
	}
}

func TestURLsNeedSchemeAndHost(t *testing.T) {
	target, err := valuesOf("https://files.example/a?sig=x%2Fy").URL("{a.id}")
	require.NoError(t, err)
	require.Equal(t, "https://files.example/a?sig=x%2Fy", target.String())
	for _, value := range []string{"", "/a", "//host/a", "ftp://host/a", "https://user@host/", "https://host/#x",
		"https://ho st/", "javascript:1", "https://host/\n"} {
		_, err := valuesOf(value).URL("{a.id}")
		require.ErrorContains(t, err, "not an http or https URL", value)
	}
}

func TestOnlyNamedStringsOfAJSONBodyAreFilled(t *testing.T) {
	body := `{ "name": "{a.id}", "{a.id}": 1, "upload" : {"id":"x-{a.id}\t","n":[1.0,"{a.id}"]} }`
	want := `{ "name": "{a.id}", "{a.id}": 1, "upload" : {"id":"x-\"quoted\" \\ é\t",` +
		`"n":[1.0,"\"quoted\" \\ é"]} }`
	filled, err := valuesOf(`"quoted" \ é`).JSON([]byte(body), []string{"/upload/id", "/upload/n/1"})
	require.NoError(t, err)
	require.Equal(t, want, string(filled))
	_, err = valuesOf("x").JSON([]byte(`{"a":1}`), []string{"/a"})
	require.ErrorContains(t, err, "no string at /a")
	_, err = valuesOf("x").JSON([]byte(`{"a":`), []string{"/a"})
	require.ErrorContains(t, err, "not valid JSON")
}

func TestFilledBodiesHaveTheValueAgain(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var text strings.Builder
		for range random.IntN(12) {
			text.WriteRune([]rune("ab\"\\/{}.&=%+\r\n\t\x00é💥")[random.IntN(18)])
		}
		value := text.String()
		values := valuesOf(value)
		body, err := values.JSON([]byte(`{"k":["{a.id}"]}`), []string{"/k/0"})
		require.NoError(t, err)
		var decoded struct{ K []string }
		require.NoError(t, json.Unmarshal(body, &decoded))
		require.Equal(t, value, decoded.K[0])

		encoded, err := Body{Form: []Field{{"f", "{a.id}"}, {"g", "1"}}}.Encode(values)
		require.NoError(t, err)
		form, err := url.ParseQuery(string(encoded.Body))
		require.NoError(t, err)
		require.Equal(t, url.Values{"f": {value}, "g": {"1"}}, form)

		if path, err := values.Path("/m/{a.id}/x"); err == nil {
			parsed, err := url.Parse("https://host" + path)
			require.NoError(t, err)
			require.Equal(t, "/m/"+value+"/x", parsed.Path)
			require.Empty(t, parsed.RawQuery+parsed.Fragment)
			require.Equal(t, 3, strings.Count(parsed.EscapedPath(), "/"))
		}
	}
}

func TestMultipartBodiesAreReadBack(t *testing.T) {
	body := Body{Parts: []Part{{Name: "upload", Text: "{a.id}"}, {Name: `me"nu`, Filename: "menu.csv",
		ContentType: "text/csv", Content: []byte("a;{a.id}\r\n--x--\r\n")}}, Gzip: true}
	first, err := body.Encode(valuesOf("u-1"))
	require.NoError(t, err)
	again, err := body.Encode(valuesOf("u-1"))
	require.NoError(t, err)
	require.Equal(t, first, again)
	other, err := body.Encode(valuesOf("u-2"))
	require.NoError(t, err)
	require.NotEqual(t, first.Headers["Content-Type"], other.Headers["Content-Type"])

	require.Equal(t, "gzip", first.Headers["Content-Encoding"])
	unpacked, err := gzip.NewReader(bytes.NewReader(first.Body))
	require.NoError(t, err)
	plain, err := io.ReadAll(unpacked)
	require.NoError(t, err)
	require.Equal(t, first.Plain, plain)
	_, parameters, err := mime.ParseMediaType(first.Headers["Content-Type"])
	require.NoError(t, err)
	reader := multipart.NewReader(bytes.NewReader(plain), parameters["boundary"])
	var got []string
	for {
		part, err := reader.NextPart()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		content, err := io.ReadAll(part)
		require.NoError(t, err)
		got = append(got, part.FormName(), part.FileName(), part.Header.Get("Content-Type"), string(content))
	}
	require.Equal(t, []string{"upload", "", "", "u-1", "me%22nu", "menu.csv", "text/csv", "a;{a.id}\r\n--x--\r\n"}, got)
}

func FuzzPlaceholdersAreReplacedOnce(f *testing.F) {
	f.Add("{a.id}", "{a.id}")
	f.Fuzz(func(t *testing.T, text, value string) {
		filled, err := valuesOf(value).Text(text)
		if err != nil {
			return
		}
		rest := strings.ReplaceAll(text, "{a.id}", value)
		require.Equal(t, rest, filled)
		for _, name := range placeholder.Find(text) {
			require.Equal(t, "{a.id}", name.String())
		}
	})
}
