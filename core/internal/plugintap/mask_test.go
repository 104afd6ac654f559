package plugintap

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	pb "github.com/servery-hub/servery/plugins/proto"
	"github.com/servery-hub/servery/plugins/sdk"
)

func TestPersonalValuesAreMaskedInEveryFormat(t *testing.T) {
	for name, c := range map[string]struct{ body, masked string }{
		"json":  {`{"customer":{"name":"Jane Roe","notes":"call 555-010-1234"}}`, ""},
		"names": {`{"items":[{"name":"Soup"}],"riderName":"Jane Roe","courier":"Jane Roe"}`, `"Soup"`},
		"xml": {`<?xml version="1.0"?><order id="A1"><customer name="Jane Roe"><name>Jane Roe</name>` +
			`<tel>5550100</tel></customer><address><city>Elm Town</city></address><item><name>Soup</name></item>` +
			`</order>`, `<item><name>Soup</name></item>`},
		"form": {"order=A1&customer%5Bname%5D=Jane+Roe&phone=5550100&note=soup",
			"order=A1&customer[name]=[name]"},
		"json in a form": {"payload=" + url.QueryEscape(`{"customer":{"name":"Jane Roe"}}`), "payload="},
		"table": {"order;customer_name;mobile\nA1;Jane Roe;5550100\nB2;\"Jane Roe; Jr\";5550100",
			"A1;[name];[number]"},
		"multipart": {"--b\r\nContent-Disposition: form-data; name=\"email\"\r\n\r\njane\r\n--b\r\n" +
			"Content-Disposition: form-data; name=\"file\"; filename=\"m.csv\"\r\n\r\nid,first_name\n" +
			"1,Jane Roe\r\n--b--", "id,first_name\n1,[name]"},
		"text": {"call +1 555 010 1234 or jane@roe.example", "call [number] or [e-mail]"},
	} {
		masked := MaskBody(c.body)
		for personal := range strings.SplitSeq("Jane Roe 5550100 555-010-1234 Elm jane", " ") {
			require.NotContains(t, masked, personal, name)
		}
		require.Contains(t, masked, c.masked, name)
		require.NotContains(t, masked, unreadable, name)
	}
}

func TestPagesFormsAndPartsAreMasked(t *testing.T) {
	page := []byte(`<customer><name>Jane Roe</name></customer>`)
	for name, message := range map[string]proto.Message{
		"pages": &pb.Response{Pages: [][]byte{page}},
		"form":  &pb.Step{Form: []*pb.FormField{{Name: "customer_name", Value: "Jane Roe"}}},
		"field": &pb.Step{Parts: []*pb.Part{{Name: "customer_name", Text: "Jane Roe"}}},
		"plain": &pb.Step{Parts: []*pb.Part{{Name: "customer_name", Content: []byte("Jane Roe")}}},
		"parts": &pb.Step{Parts: []*pb.Part{{Name: "a", Content: page}, {Name: "b", Text: string(page)}}},
	} {
		text, err := sdk.ToJSON(message)
		require.NoError(t, err)
		masked := string(MaskJSON(text))
		require.NotContains(t, masked, "Jane", name)
		require.Contains(t, masked, "[name]", name)
	}
	address := `{"address":[{"name":"city","value":"Elm Town"}],"customer":{"name":"Jane Roe","value":"1"}}`
	require.NotContains(t, string(MaskJSON([]byte(address))), "Jane")
	require.NotContains(t, string(MaskJSON([]byte(address))), "Elm")
}

func TestBrokenBodiesAreNotShown(t *testing.T) {
	for _, body := range []string{"<order><name>Jane Roe", "<a></a></b>Jane", "--b\nJane Roe", "name=%zz&a=Jane"} {
		require.Equal(t, unreadable, MaskBody(body), body)
	}
	require.Equal(t, `"`+unreadable+`"`, string(MaskJSON([]byte("{Jane"))))
}
