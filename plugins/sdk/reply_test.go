package sdk

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	pb "github.com/servery-hub/servery/plugins/proto"
)

type accepted struct{ Number int }

func TestReplyStaysWithinItsBounds(t *testing.T) {
	order := func(reply *InboundReply) proto.Message {
		return &Translation{Meaning: &pb.Translation_Order{Order: &NewOrder{}}, Reply: reply}
	}
	ignored := func(reply *InboundReply) proto.Message {
		return &Translation{Meaning: &pb.Translation_Ignored{Ignored: "a ping"}, Reply: reply}
	}
	outcome := func(reply *InboundReply) proto.Message { return &ActionOutcome{Reply: reply} }
	withHeader := func(name, value string) *InboundReply {
		return &InboundReply{Status: 200, Headers: map[string]string{name: value}}
	}
	mark := JSONReply(200, map[string]string{"id": "ORDER"})
	mark.OrderIdMark = "ORDER"
	for _, c := range []struct {
		name    string
		answer  proto.Message
		refused string
	}{
		{"none", order(nil), ""},
		{"another result", &Decision{}, ""},
		{"created", order(JSONReply(201, map[string]int{"a": 1})), ""},
		{"in XML", outcome(XMLReply(202, accepted{1})), ""},
		{"nothing", order(Reply(204, "", nil)), ""},
		{"not found", ignored(Reply(404, "text/plain; charset=utf-8", []byte("no"))), ""},
		{"with the id", order(mark), ""},
		{"language", order(withHeader("content-language", "de")), ""},
		{"an order that is not found", order(Reply(404, "", nil)), "status 404: must be one of [200 201 202 204]"},
		{"an outcome that fails", outcome(Reply(500, "", nil)), "status 500"},
		{"a redirect", ignored(Reply(302, "", nil)), "status 302"},
		{"no status", order(&InboundReply{}), "status 0"},
		{"cookie", order(withHeader("Set-Cookie", "a=b")), `header "Set-Cookie": must be one of`},
		{"location", order(withHeader("Location", "https://example.com")), `header "Location"`},
		{"a page", order(withHeader("Content-Type", "text/html")), `Content-Type "text/html"`},
		{"an image", order(withHeader("content-type", "image/svg+xml")), `Content-Type "image/svg+xml"`},
		{"two headers in one", order(withHeader("Cache-Control", "a\r\nX: y")), "control character"},
		{"too long", order(Reply(200, "", []byte(strings.Repeat("a", MaxReply+1)))), "above the limit of 16384"},
		{"nothing with a body", order(Reply(204, "", []byte("a"))), "status 204 has no body"},
		{"a Go stack", order(Reply(200, "", []byte("goroutine 7 [running]:\nmain.x()"))), "has a stack"},
		{"a Python stack", order(Reply(200, "", []byte("Traceback (most recent call last)"))), "has a stack"},
		{"a source position", order(Reply(200, "", []byte("/src/plugin/orders.go:42"))), "has a stack"},
		{"a mark that is absent", order(&InboundReply{Status: 200, OrderIdMark: "X"}), "must be in the body once"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := CheckReply(c.answer)
			if c.refused == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.refused)
			}
		})
	}
}

func TestCallbackNeedsTheCapability(t *testing.T) {
	callback, err := Callback()
	require.NoError(t, err)
	require.ErrorContains(t, CheckResult(&Description{}, callback), "needs the capability action_callback")
	require.NoError(t, CheckResult(&Description{Capabilities: []string{CapabilityActionCallback}}, callback))
}

func form(contentType, body string) *InboundRequest {
	return &InboundRequest{Headers: map[string]string{"content-type": contentType}, Body: []byte(body)}
}

const parts = "--b\r\nContent-Disposition: form-data; name=\"id\"\r\n\r\nA-1\r\n" +
	"--b\r\nContent-Disposition: form-data; name=\"doc\"; filename=\"o.xml\"\r\n\r\n<o/>\r\n--b--\r\n"

func TestFormIsReadInEitherEncoding(t *testing.T) {
	fields, err := ReadForm(form("application/x-www-form-urlencoded", "id=A%2D1&doc=%3Co%2F%3E"))
	require.NoError(t, err)
	fromParts, err := ReadForm(form("multipart/form-data; boundary=b", parts))
	require.NoError(t, err)
	require.Equal(t, fields, fromParts)
	require.Equal(t, "A-1", fields.Get("id"))
	for _, wrong := range []*InboundRequest{form("", "a=%zz"), form("multipart/form-data; boundary=c", parts),
		form("multipart/form-data", parts), form("multipart/form-data; boundary=b", parts[:40]),
		form("multipart/form-data; boundary=b", strings.Repeat("--b\r\n\r\n\r\n", maxParts)+"--b--\r\n")} {
		_, err := ReadForm(wrong)
		require.True(t, IsRefusal(err), "%v", wrong.GetHeaders())
	}
}

func TestXMLIsReadInItsEncoding(t *testing.T) {
	var order struct {
		ID   string `xml:"id,attr"`
		Name string `xml:"name"`
	}
	require.NoError(t, ReadXML(form("", `<?xml version="1.0" encoding="ISO-8859-1"?><o id="A-1"><name>Caf`+"\xe9"+
		`</name></o>`), &order))
	require.Equal(t, "A-1 Café", order.ID+" "+order.Name)
	for _, wrong := range []string{"", "<o>", "{}", `<?xml version="1.0" encoding="utf-7"?><o/>`,
		`<!DOCTYPE o [<!ENTITY e "x">]><o>&e;</o>`} {
		require.True(t, IsRefusal(ReadXML(form("", wrong), &order)), wrong)
	}
}

func FuzzReadForm(f *testing.F) {
	f.Add("application/x-www-form-urlencoded", []byte("id=1&b=%20"))
	f.Add("multipart/form-data; boundary=b", []byte(parts))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		fields, err := ReadForm(form(contentType, string(body)))
		if err != nil {
			require.True(t, IsRefusal(err))
			return
		}
		size := 0
		for _, values := range fields {
			for _, value := range values {
				size += len(value)
			}
		}
		require.LessOrEqual(t, size, len(body))
	})
}

func TestServedMenuIsLargerThanAReply(t *testing.T) {
	body := []byte(strings.Repeat("a", MaxServedMenu))
	require.NoError(t, CheckResult(&Description{}, Reply(200, "text/csv", body)))
	require.NoError(t, CheckResult(&Description{}, Reply(404, "", nil)))
	require.ErrorContains(t, CheckResult(&Description{}, Reply(200, "text/csv", append(body, 'a'))), "above the limit")
	require.ErrorContains(t, CheckResult(&Description{}, Reply(200, "text/html", nil)), "must be one of")
	require.ErrorContains(t, CheckResult(&Description{}, Reply(500, "", nil)), "must be one of")
	marked := Reply(200, "text/plain", []byte("ID"))
	marked.OrderIdMark = "ID"
	require.ErrorContains(t, CheckResult(&Description{}, marked), "about no order")
}
