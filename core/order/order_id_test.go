package order

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

const multipartForm = "--b\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nnone\r\n" +
	"--b\r\nContent-Disposition: form-data; name=\"order\"\r\n\r\n{\"id\":\"A-7\"}\r\n--b--\r\n"

func TestOrderIDIsFoundInEachFormat(t *testing.T) {
	const urlEncoded = "application/x-www-form-urlencoded"
	for _, c := range []struct{ path, media, body, want string }{
		{"/order/id", "application/json", `{"order":{"id":"A-7"}}`, "A-7"},
		{"/order/id", urlEncoded, `{"order":{"id":7}}`, "7"},
		{"/ids/1", "application/json", `{"ids":["A-6","A-7"]}`, "A-7"},
		{"/ids/2/id", "application/json", `{"ids":["A-6","A-7"]}`, ""},
		{"/ids/-1", "application/json", `{"ids":["A-6"]}`, ""},
		{"/id", urlEncoded + "; charset=utf-8", "x=1&id=A%2D7", "A-7"},
		{"/order/id", urlEncoded, "order=%7B%22id%22%3A%22A-7%22%7D", "A-7"},
		{"/id", urlEncoded, "id=A-7&broken=%zz", "A-7"},
		{"/id", urlEncoded, "", ""},
		{"/order/id", "multipart/form-data; boundary=b", multipartForm, "A-7"},
		{"/note", "multipart/form-data; boundary=b", multipartForm, "none"},
		{"/order/id", "multipart/form-data; boundary=c", multipartForm, ""},
		{"/order/id", "text/xml", `<?xml version="1.0"?><order><id> A-7 </id></order>`, "A-7"},
		{"/order/@id", "application/xml; charset=utf-8", `<n:order xmlns:n="u" id="A-7"/>`, "A-7"},
		{"/a/b/id", "application/soap+xml", `<a><x><id>1</id></x><b><id>A&#45;7<n/></id></b>`, "A-7"},
		{"/order/id", "text/xml", `<?xml version="1.0" encoding="ISO-8859-1"?><order><id>A-7</id>` + "\xe9", "A-7"},
		{"/order/id", "text/xml", `<order><name>A-7</name></order>`, ""},
		{"/order/id", "text/xml", `<order><id>A-7`, ""},
		{"/@id", "text/xml", `<order id="A-7"/>`, ""},
		{"/order/@id", "text/xml", `<order/>`, ""},
		{"order", "text/xml", `<order>A-7</order>`, "A-7"},
	} {
		require.Equal(t, c.want, OrderIDAt(c.path, c.media, []byte(c.body)), c)
	}
}

func FuzzOrderIDAt(f *testing.F) {
	f.Add("/order/id", "application/json", []byte(`{"order":{"id":"A-7"}}`))
	f.Add("/order/@id", "text/xml", []byte(`<order id="A-7"><id>1</id></order>`))
	f.Add("/order/id", "multipart/form-data; boundary=b", []byte(multipartForm))
	f.Add("/order/id", "application/x-www-form-urlencoded", []byte("order=%7B%22id%22%3A1%7D"))
	f.Fuzz(func(t *testing.T, path, media string, body []byte) {
		id := OrderIDAt(path, media, body)
		require.True(t, utf8.ValidString(id))
		require.NotContains(t, id, "\x00")
		require.LessOrEqual(t, utf8.RuneCountInString(id), maxName)
	})
}
